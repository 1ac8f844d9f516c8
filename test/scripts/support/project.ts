/** A folder with a lockfile and an npm that does what matters here, in which dependencies are installed by processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const source = new URL('../../../scripts/dependencies.mjs', import.meta.url).pathname

/** What npm does to node_modules, as far as it matters here. Where it is `slow`, it waits for `go`, and leaves when nobody waits any more. */
const npm = `
const fs = require('node:fs')
if (fs.existsSync('deaf')) for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
fs.appendFileSync('npm-runs', process.argv.slice(2).join(' ') + '\\n')
fs.mkdirSync('node_modules', { recursive: true })
const end = () => {
  if (fs.existsSync('broken')) { console.error('npm error first\\nnpm error second'); process.exit(7) }
  if (fs.existsSync('full')) console.error(fs.readFileSync('full', 'utf8'))
  fs.copyFileSync('package-lock.json', 'node_modules/.package-lock.json')
}
if (!fs.existsSync('slow')) end()
else setInterval(() => {
  if (fs.existsSync('go')) end()
  else if (fs.existsSync('slow')) return
  process.exit()
}, 10)
`

export class Project {
  readonly folder: string
  readonly #children: ChildProcess[] = []

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(packages: Record<string, unknown> = { 'node_modules/a': { version: '1.0.0' } }): Promise<Project> {
    const project = new Project(await mkdtemp(join(tmpdir(), 'troupe-set-up-')))
    await mkdir(project.path('scripts'))
    await cp(source, project.path('scripts/dependencies.mjs'))
    await project.write('package-lock.json', JSON.stringify({ packages }))
    await project.write('npm-cli.cjs', npm)
    return project
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  write(name: string, text = ''): Promise<void> {
    return writeFile(this.path(name), text)
  }

  async runs(): Promise<number> {
    const text = await readFile(this.path('npm-runs'), 'utf8').catch(() => '')
    return text.split('\n').length - 1
  }

  /** Resolves when the process has ended, with all that it printed. */
  install({ noteMs = 30_000, renewMs = 10_000, untouchedMs = 60_000, before = '' } = {}) {
    const call = `m.installDependencies(${noteMs}, ${renewMs}, ${untouchedMs})`
    const code = `${before}import('./scripts/dependencies.mjs').then((m) => ${call}).catch((e) => { console.error(e.message); process.exit(1) })`
    const child = spawn(process.execPath, ['-e', code], {
      cwd: this.folder,
      env: { ...process.env, npm_execpath: this.path('npm-cli.cjs') },
    })
    this.#children.push(child)
    const printed = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.stderr += text))
    const end = new Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>((resolve) =>
      child.once('close', (code, signal) => resolve({ code, signal, ...printed })),
    )
    return { child, printed, end }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
/** How often npm was said to be still running. */
export function notes({ printed }: ReturnType<Project['install']>): number {
  return printed.stderr.split('still running').length - 1
}

export const waits = 'Waiting for another installation of the dependencies …\n'
export const said = 'Installing dependencies (npm ci) …\n'
