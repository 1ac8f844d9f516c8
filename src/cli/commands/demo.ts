/** `troupe demo [folder]`: the main job on real input: a tree of workers surveys a folder, and the command prints the report. */
import { access, constants, realpath, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { folderRedisUrl } from '../../config.ts'
import { InputError, TerminalError } from '../../core/errors.ts'
import type { AgentResult } from '../../core/history/agent-result.ts'
import type { RunResult } from '../../core/history/entry.ts'
import type { SessionLimits } from '../../core/policy.ts'
import { endWith, exitCodes } from '../exit-code.ts'
import { connectTo, plainConfigOf } from '../host/connection.ts'
import { demoRedis } from '../host/demo-redis.ts'
import { startLocalNode } from '../host/local-node.ts'
import { bundledWorkersFolder } from '../host/worker-files.ts'
import {
  addConnectionOptions,
  addExamples,
  addModelOption,
  addRawOption,
  type NodeFlags,
  type RawFlag,
} from '../options.ts'
import { CountsView } from '../terminal/counts-view.ts'
import { commandEndMsMax, Interrupt } from '../terminal/interrupt.ts'
import { printJson, printText, safe } from '../terminal/output.ts'
import { treeView } from '../terminal/session-view.ts'
import { onSuddenEnd } from '../terminal/sudden-end.ts'
import { followToEnd } from './talk/follow.ts'
import { printResult } from './talk/print-result.ts'

interface DemoFlags extends NodeFlags, RawFlag {
  readonly out?: string
}

/** The facts that the tools of the surveyor establish. */
interface Survey {
  readonly markdown: string
  readonly totals: Readonly<Record<'files' | 'bytes' | 'lines' | 'unreadable' | 'workers', number>>
  readonly isComplete: boolean
}

/** The session of a survey. */
interface Surveyed {
  readonly id: string
  /** The command with these words that shows the session later; undefined if its Redis does not stay. */
  readonly later: ((words: string) => string) | undefined
  readonly tell: (line: string) => void
}

const offlineModel = 'offline/rules'

/** Room for a tree over a large folder, so that the demo shows one. */
const limits: Partial<SessionLimits> = {
  workers: 2_000,
  children: 50,
  depth: 12,
  modelCalls: 10_000,
  tokens: 10_000_000,
  toolCalls: 200_000,
}

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description('survey a folder with a tree of workers')
    .argument('[folder]', 'folder to survey', '.')
    .option('--out <file>', 'file of the report; default: on a terminal .troupe/reports/survey.md, else stdout')
  addConnectionOptions(addModelOption(addRawOption(command)), 'a Redis of its own')
  addExamples(command, [
    ['troupe demo', 'this folder'],
    ['troupe demo ~/src --out report.md', 'another folder; the report goes into a file'],
    ['troupe demo . --json | tail -1', 'the totals'],
  ])
  command.addHelpText(
    'after',
    '\nIt uses the configured Redis. Without one it starts its own Redis, and stops it at\nthe end; --redis-url folder lets other commands see its sessions later. Ctrl+C\ncancels the survey; a second one ends this process at once.',
  )
  command.action(demo)
}

async function demo(argument: string, flags: DemoFlags): Promise<void> {
  const folder = await existingFolder(argument)
  if (flags.out !== undefined) await checkWritable(flags.out)
  const config = await plainConfigOf(flags)
  using view = (flags.json ? undefined : treeView()) ?? new CountsView(flags.json === true)
  const tell = (line: string) => view.tell(line)
  onSuddenEnd({ tell })
  using interrupt = new Interrupt(() => tell('troupe: interrupted (again to end at once)'), commandEndMsMax)
  await using redis = await interrupt.orThrow(demoRedis(config, tell, interrupt.signal))
  // The view is enough, unless somebody asked for more.
  const logLevel = config.logLevel === 'info' ? 'warn' : config.logLevel
  const settings = { ...config, redisUrl: redis.url, logLevel }
  await using troupe = await interrupt.orThrow(connectTo(settings, 'create'))
  await using _node = await interrupt.orThrow(startLocalNode(settings, bundledWorkersFolder(), { tell }))
  tell(modelLine(config.model))
  const session = await troupe.sessions.create({ kind: 'surveyor', input: { folder }, limits })
  onSuddenEnd({ sessionId: session.id, isLasting: redis.fate !== 'thrown away' })
  view.watch(session.rootId)
  tell(`Surveying ${safe(typeof folder === 'string' ? folder : argument)} in session ${session.id}.`)
  const result = await followToEnd(session, interrupt, view)
  view.end()
  endWith(interrupt.exitCode ?? (result?.status === 'completed' ? exitCodes.ok : exitCodes.failed))
  const address = redis.fate === 'in the folder' ? ` --redis-url ${folderRedisUrl}` : ''
  const later = (words: string) => `${config.calledAs} ${words} ${session.id}${address}`
  const surveyed = { id: session.id, later: redis.fate === 'thrown away' ? undefined : later, tell }
  if (result) await deliver(surveyed, result, flags)
  tell(nextLine(surveyed))
}

/** The last line: what the person may do next. */
function nextLine({ later }: Surveyed): string {
  const own = 'write a worker of your own: README.md, "Write a worker"'
  if (later === undefined) return `Its Redis is thrown away now, and the session with it. Next: ${own}.`
  return `Next: see what each worker did with \`${later('session tree')}\`, or ${own}.`
}

function modelLine(model: string | undefined): string {
  if (model !== undefined && model !== offlineModel) return `The model is ${safe(model)}.`
  return `The model is ${offlineModel}: fixed rules, no language model. For a real one: --model provider/model.`
}

async function deliver(surveyed: Surveyed, result: RunResult, flags: DemoFlags): Promise<void> {
  const { id, tell } = surveyed
  if (result.status !== 'completed') {
    printResult(id, result, flags)
    return
  }
  const { text = '', facts } = (result.value ?? {}) as Partial<AgentResult>
  const { markdown, totals, isComplete } = (facts?.report ?? {}) as Partial<Survey>
  if (typeof markdown !== 'string' || totals === undefined) {
    throw new TerminalError(
      `the surveyor of session ${id} ended without a report; it said: ${safe(text.slice(0, 500))} See: troupe session show ${id}`,
    )
  }
  for (const line of text.trim().split('\n')) tell(safe(line))
  await deliverReport(surveyed, markdown, flags)
  if (flags.json) printJson({ type: 'report', ...totals, isComplete, text })
}

/**
 * Writes the report into the file that the person named. Without one: on a terminal into a file of ours, because a long report would hide everything
 * else; otherwise to stdout.
 */
async function deliverReport({ id, later, tell }: Surveyed, markdown: string, flags: DemoFlags): Promise<void> {
  if (flags.out !== undefined) {
    await writeReport(flags.out, markdown).catch((cause: unknown) => {
      const instead = flags.json ? '' : ' It is on stdout instead.'
      const kept = later && ` It is also value.facts.report.markdown of \`${later('session result')} --json\`.`
      if (!flags.json) printText(markdown, flags)
      throw new TerminalError(`${unwritable(cause).message} It belongs to session ${id}.${instead}${kept ?? ''}`, {
        cause,
      })
    })
    tell(`The report is in ${safe(flags.out)}.`)
    return
  }
  if (flags.json) return
  const file = process.stdout.isTTY ? await writeOwnReport(markdown) : undefined
  if (file === undefined) printText(markdown, flags)
  else tell(`The report is in ${safe(file)}.`)
}

/** Returns the path of the file; undefined if no file can be written here. */
async function writeOwnReport(markdown: string): Promise<string | undefined> {
  const folder = join('.troupe', 'reports')
  try {
    const { prepareFolder } = await import('../../dev/shared-redis.ts')
    await prepareFolder(folder)
    const file = join(folder, 'survey.md')
    await writeReport(file, markdown)
    return file
  } catch {
    return undefined
  }
}

/** The folder as a surveyor takes it: its path, or the bytes of its path if a name in it is not valid text. */
async function existingFolder(argument: string): Promise<string | { readonly base64: string }> {
  if (argument === '')
    throw new InputError('the folder is an empty text: name a folder, or leave it out for the current one.')
  // Throws if the current folder is gone: no thread of a tool could start in it, whatever folder is surveyed.
  process.cwd()
  const found = await stat(argument).catch((cause: NodeJS.ErrnoException) => {
    const isMissing = cause.code === 'ENOENT' || cause.code === 'ENOTDIR'
    throw new InputError(
      isMissing ? `there is no folder ${argument}.` : `the folder ${argument} cannot be opened: ${cause.message}.`,
    )
  })
  if (!found.isDirectory()) throw new InputError(`${argument} is not a folder.`)
  const folder = resolve(argument)
  const named = await stat(folder).catch(() => undefined)
  if (named?.ino === found.ino && named.dev === found.dev) return folder
  return { base64: (await realpath(argument, { encoding: 'buffer' })).toString('base64') }
}

/** Checks that the file can be written, before the survey, which may take long. Writes nothing. */
async function checkWritable(file: string): Promise<void> {
  if (file === '') throw new InputError('the report cannot be written: --out is an empty text; name a file.')
  try {
    const found = await stat(file).catch(() => undefined)
    if (found?.isDirectory() || file.endsWith('/'))
      throw new InputError(`the report cannot be written: ${file} is a folder.`)
    await access(found === undefined ? dirname(resolve(file)) : file, constants.W_OK)
  } catch (cause) {
    throw unwritable(cause)
  }
}

async function writeReport(file: string, markdown: string): Promise<void> {
  await writeFile(file, markdown.endsWith('\n') ? markdown : `${markdown}\n`)
}

function unwritable(cause: unknown): InputError {
  if (cause instanceof InputError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new InputError(`the report cannot be written: ${reason}.`, { cause })
}
