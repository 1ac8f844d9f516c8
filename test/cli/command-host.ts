/** The process in which a project runs the commands that need none of their own (programs/commands.ts). */
import { type ChildProcess, fork } from 'node:child_process'
import type { CommandEnd, CommandOrder } from '../programs/commands.ts'

const program = new URL('../programs/commands.ts', import.meta.url)

export class CommandHost {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<CommandEnd>>()
  #orders = 0

  constructor(cwd: string, env: Readonly<Record<string, string>>) {
    this.#child = fork(program, [], {
      cwd,
      env,
      execArgv: ['--conditions=troupe-source'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#child.on('message', (end: CommandEnd) => {
      this.#waiting.get(end.id)?.resolve(end)
      this.#waiting.delete(end.id)
    })
    let printed = ''
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (printed += text))
    this.#child.once('close', (code, signal) => {
      const error = new Error(`The process that runs commands ended with ${signal ?? code}: ${printed}`)
      for (const { reject } of this.#waiting.values()) reject(error)
    })
  }

  run(args: readonly string[]): Promise<CommandEnd> {
    const id = ++this.#orders
    const end = Promise.withResolvers<CommandEnd>()
    this.#waiting.set(id, end)
    this.#child.send({ id, args } satisfies CommandOrder)
    return end.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('close', resolve))
    this.#child.kill('SIGKILL')
    await gone
  }
}
