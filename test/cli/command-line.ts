/** The command line as a child process in a project of its own. Its environment holds only PATH and HOME. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sharedEnv } from '../support/package/shared-env.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { CommandHost } from './command-host.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const main = join(repository, 'src', 'cli', 'main.ts')

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** stdout as one object for each line. */
  readonly objects: Record<string, unknown>[]
}

export interface CommandOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
}

/** A running command, with its output so far. */
export class RunningCommand {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''
  readonly ended: Promise<Ended>
  #hasEnded = false

  constructor(args: readonly string[], { cwd, env, stdin }: CommandOptions) {
    this.child = spawn(process.execPath, ['--conditions=troupe-source', main, ...args], {
      cwd,
      env: fullEnv(env),
      stdio: 'pipe',
    })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    this.child.stdin?.on('error', () => {})
    this.child.stdin?.end(stdin ?? '')
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject)
      this.child.once('close', (code, signal) => {
        this.#hasEnded = true
        resolve(this.#end(code, signal))
      })
    })
  }

  #end(code: number | null, signal: NodeJS.Signals | null): Ended {
    return endOf({ code, signal, stdout: this.stdout, stderr: this.stderr })
  }

  /** Waits for a text in the output. The deadline is long, because a command that starts beside many others is slow. */
  async saw(text: string | RegExp, where: 'stdout' | 'stderr' = 'stderr'): Promise<void> {
    const isThere = () => {
      const seen = this[where]
      if (typeof text === 'string' ? seen.includes(text) : text.test(seen)) return true
      if (this.#hasEnded) throw new Error(`it ended with ${this.child.exitCode}: ${this.stderr}`)
      return false
    }
    await waitUntil(`${text} on ${where}`, isThere)
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }
}

function fullEnv(env?: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, ...sharedEnv(), ...env }
}

function endOf(end: Omit<Ended, 'objects'>): Ended {
  return {
    ...end,
    get objects() {
      return parseLines(end.stdout)
    },
  }
}

function parseLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** A folder with worker files where `import 'troupe'` means this repository. */
export class Project implements AsyncDisposable {
  readonly folder: string
  readonly #env: Readonly<Record<string, string>>
  readonly #running = new Set<RunningCommand>()
  #host: CommandHost | undefined

  private constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.folder = folder
    this.#env = env
  }

  static async create(
    files: Readonly<Record<string, string>>,
    env: Readonly<Record<string, string>>,
  ): Promise<Project> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-cli-')))
    await mkdir(join(folder, 'node_modules'))
    await symlink(repository, join(folder, 'node_modules', 'troupe'), 'junction')
    const project = new Project(folder, env)
    for (const [path, text] of Object.entries(files)) await project.write(path, text)
    return project
  }

  /** Whoever watches the file sees all of the text at once. */
  async write(path: string, text: string): Promise<string> {
    const file = join(this.folder, path)
    await mkdir(dirname(file), { recursive: true })
    const whole = `${file}.${randomUUID()}.tmp`
    await writeFile(whole, text)
    await rename(whole, file)
    return file
  }

  start(args: readonly string[], options: Partial<CommandOptions> = {}): RunningCommand {
    const env = { ...this.#env, ...options.env }
    const command = new RunningCommand(args, { cwd: this.folder, ...options, env })
    this.#running.add(command)
    void command.ended.finally(() => this.#running.delete(command))
    return command
  }

  /** Runs a command to its end, in a process of its own. */
  run(args: readonly string[], options: Partial<CommandOptions> = {}): Promise<Ended> {
    return this.start(args, options).ended
  }

  /** Runs a command to its end, in a process that runs many commands one after the other: for commands that look, ask or are refused. */
  async ask(args: readonly string[]): Promise<Ended> {
    this.#host ??= new CommandHost(this.folder, fullEnv(this.#env))
    return endOf({ ...(await this.#host.run(args)), signal: null })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host?.[Symbol.asyncDispose]()
    for (const command of this.#running) command.kill('SIGKILL')
    await Promise.all([...this.#running].map((command) => command.ended))
    await rm(this.folder, { recursive: true, force: true })
  }
}
