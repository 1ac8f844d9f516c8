/**
 * Duty: a busy process for each core of the machine, for the time of the loaded trial.
 * Owns: these processes. Each ends when it is stopped, and when the bench dies, however it dies (busy-main.ts).
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'

export class BusyCores {
  readonly #processes: readonly ChildProcess[]

  private constructor(processes: readonly ChildProcess[]) {
    this.#processes = processes
  }

  /** Resolves when every one of them has begun to use its core. */
  static async start(count = availableParallelism()): Promise<BusyCores> {
    const program = new URL('../busy-main.ts', import.meta.url)
    const processes = Array.from({ length: count }, () => fork(program))
    await Promise.all(processes.map((one) => once(one, 'message')))
    return new BusyCores(processes)
  }

  get pids(): readonly number[] {
    return this.#processes.flatMap(({ pid }) => pid ?? [])
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map(stopOne))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}

async function stopOne(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const exited = once(process, 'exit')
  process.kill('SIGKILL')
  await exited
}
