/** `troupe new <folder>`: a small project of one's own, which runs and passes its tests as it is. */
import { spawn } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Command, Option } from 'commander'
import { InputError } from '../../../core/errors.ts'
import { isKind, kindRule } from '../../../core/ids.ts'
import { endWith, exitCodes } from '../../exit-code.ts'
import { makeFolder } from '../../host/make-folder.ts'
import { addExamples, addJsonOption } from '../../options.ts'
import { hasTerminal, type JsonFlag, print, printJson, safe, tell } from '../../terminal/output.ts'
import { type ProjectFacts, projectFiles, type Sort, sorts, workerFilesOf } from './project.ts'

interface NewFlags extends JsonFlag {
  readonly kind?: Sort
  readonly name?: string
  readonly yes?: boolean
  readonly install: boolean
}

const defaultNames: Readonly<Record<Sort, string>> = { agent: 'shopkeeper', handler: 'counter' }

export function addNewCommand(program: Command): void {
  const command = program
    .command('new')
    .description('write a small project of your own: a worker, its tests, and what belongs to it')
    .argument('<folder>', 'folder of the project; it must be empty, or not there')
    .addOption(new Option('--kind <sort>', 'the sort of its worker; default: agent').choices(sorts))
    .option('--name <kind>', `name of the worker; default: ${defaultNames.agent}, or ${defaultNames.handler}`)
    .option('--yes', 'ask nothing: what no option says takes its default')
    .option('--no-install', 'do not run npm install in it')
  addJsonOption(command)
  addExamples(command, [
    ['troupe new shop', 'asks what to write, on a terminal'],
    ['troupe new . --yes', 'an agent, in the current folder'],
    ['troupe new clock --kind handler --name counter --yes', 'a handler'],
  ])
  command.addHelpText('after', '\nNext: cd <folder>, and npm run dev. It needs no key and no set-up.')
  command.action(newProject)
}

async function newProject(argument: string, flags: NewFlags): Promise<void> {
  const folder = resolve(argument)
  await checkEmpty(folder, argument)
  if (flags.name !== undefined) checkName(flags.name)
  const answers = await answersOf(flags)
  if (answers === undefined) {
    endWith(exitCodes.interrupted)
    return
  }
  const facts = { project: projectName(folder), ...answers, versions: await versionsFor(folder) }
  const files = projectFiles(facts)
  await writeAll(folder, files, argument)
  if (!flags.json) tell(`troupe: ${safe(argument)} holds ${Object.keys(files).map(safe).join(', ')}`)
  const isInstalled = flags.install && (await install(folder, flags))
  if (flags.json)
    printJson({ type: 'created', folder, kind: facts.kind, files: Object.keys(files), installed: isInstalled })
  else for (const line of nextLines(folder, facts, isInstalled)) print(line)
  if (flags.install && !isInstalled) endWith(exitCodes.failed)
}

async function writeAll(folder: string, files: Readonly<Record<string, string>>, argument: string): Promise<void> {
  try {
    for (const [path, text] of Object.entries(files)) {
      await makeFolder(dirname(join(folder, path)))
      await writeFile(join(folder, path), text, { flag: 'wx' })
    }
  } catch (cause) {
    throw unwritable(argument, String((cause as NodeJS.ErrnoException).code), cause)
  }
}

function unwritable(argument: string, why: string, cause: unknown): InputError {
  return new InputError(`the project cannot be written to ${argument} (${why}): name another folder.`, { cause })
}

/** A repository without files counts as empty. */
async function checkEmpty(folder: string, argument: string): Promise<void> {
  if (argument === '') throw new InputError('the folder is an empty text: name a folder, or . for the current one.')
  const found = await readdir(folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return []
    const why = cause.code === 'ENOTDIR' ? 'it is no folder' : String(cause.code)
    throw unwritable(argument, why, cause)
  })
  const names = found.filter((name) => name !== '.git').sort()
  if (names.length === 0) return
  const shown = names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
  throw new InputError(`the folder ${argument} is not empty (it holds ${shown}): name another one.`)
}

function checkName(name: string): void {
  if (!isKind(name)) throw new InputError(`"${String(name)}" is no name of a worker: ${kindRule}.`)
}

/** Undefined: the person left the questions. */
async function answersOf({
  kind,
  name,
  yes,
  json,
}: NewFlags): Promise<Pick<ProjectFacts, 'kind' | 'sort'> | undefined> {
  const mayAsk = !yes && !json && hasTerminal() && process.stdin.isTTY
  if (mayAsk && (kind === undefined || name === undefined)) {
    const { askForWorker } = await import('./questions.ts')
    return askForWorker(kind, name, (sort) => defaultNames[sort])
  }
  const sort = kind ?? 'agent'
  return { sort, kind: name ?? defaultNames[sort] }
}

/** The name of a package has only such characters. */
function projectName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  return name === '' ? 'workers' : name
}

async function versionsFor(folder: string): Promise<ProjectFacts['versions']> {
  const root = fileURLToPath(new URL('../../../../', import.meta.url))
  const { dependencies, devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >
  const of = (name: string) => dependencies[name] ?? devDependencies[name] ?? '*'
  return {
    // While the package is not published, its name in a registry would be somebody else's.
    troupe: `file:${relative(folder, root).replaceAll('\\', '/') || '.'}`,
    zod: of('zod'),
    typescript: of('typescript'),
    '@types/node': of('@types/node'),
  }
}

/** Says what npm said only if it failed. */
async function install(folder: string, { json }: JsonFlag): Promise<boolean> {
  if (!json) tell('troupe: npm install')
  const args = ['install', '--no-audit', '--no-fund', '--loglevel', 'error']
  const child = spawn('npm', args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    shell: process.platform === 'win32',
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const { promise, resolve: end } = Promise.withResolvers<string | null>()
  child.once('error', (error) => end(error.message))
  child.once('close', (code) => end(code === 0 ? null : `exit code ${code}`))
  const why = await promise
  if (why === null) return true
  for (const line of said.trim().split('\n').slice(-5)) tell(`  ${safe(line)}`)
  tell(`troupe: npm install failed (${safe(why)}). The project is written: type npm install in it.`)
  return false
}

function nextLines(folder: string, facts: ProjectFacts, isInstalled: boolean): string[] {
  const path = relative(process.cwd(), folder)
  return [
    '',
    'Next:',
    ...(path === '' ? [] : [`  cd ${safe(path)}`]),
    ...(isInstalled ? [] : ['  npm install']),
    `  npm run dev        then type: ${facts.kind} ${workerFilesOf(facts).message}`,
  ]
}
