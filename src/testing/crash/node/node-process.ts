/** Duty: start, watch and stop one node process of a test. */
import { type ChildProcess, fork } from 'node:child_process'
import { ConfigError } from '../../../core/errors.ts'
import type { NodeNews, NodeOrder, NodeWord } from './node-order.ts'

const startMsMax = 180_000
const logChars = 4_000

export class NodeProcess {
  /** Resolves with the exit code, or the signal that ended it. */
  readonly gone: Promise<number | NodeJS.Signals>
  readonly #child: ChildProcess
  readonly #loaded: Promise<void>
  #log = ''

  /** Its workers are loaded at once. It begins on a message. */
  constructor(order: NodeOrder, nodeArguments: readonly string[], compiled: string) {
    this.#child = fork(program(), [compiled], {
      execArgv: [...conditions(), ...nodeArguments],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'json',
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-logChars)
      })
    }
    this.gone = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(signal ?? code ?? 0))
      this.#child.once('error', () => resolve(1))
    })
    this.#loaded = this.#hear('loaded')
    this.#tell({ order })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** The end of its output. */
  get log(): string {
    return this.#log.trim()
  }

  /** Resolves when it takes work. Throws a ConfigError if the workers cannot be loaded. */
  async begin(): Promise<void> {
    await this.#loaded
    const begun = this.#hear('begun')
    this.#tell('begin')
    await begun
  }

  /** Drains the node. */
  stop(): Promise<number | NodeJS.Signals> {
    this.#tell('stop')
    return this.gone
  }

  kill(): Promise<number | NodeJS.Signals> {
    this.#child.kill('SIGKILL')
    return this.gone
  }

  #tell(word: NodeWord): void {
    // A process that died just now cannot receive a message. `gone` reports its end.
    if (this.#child.connected) this.#child.send(word, () => {})
  }

  #hear(wanted: 'loaded' | 'begun'): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const give = (what: string) => reject(new ConfigError(`the node of this scenario ${what}`))
    const timer = setTimeout(() => give(`was not ${wanted} within ${startMsMax} ms.`), startMsMax)
    this.#child.on('message', (news: NodeNews) => {
      if (typeof news === 'object') give(`cannot start: ${news.refused}`)
      if (news === wanted) resolve()
    })
    void this.gone.then((how) => {
      // A node that is killed as soon as it begins counts as begun.
      if (how === 'SIGKILL') resolve()
      else give(`ended with ${how} before it was ${wanted}. It printed:\n${this.log}`)
    })
    promise.catch(() => {}).finally(() => clearTimeout(timer))
    return promise
  }
}

/** The program of the node: the source if this file is a source, otherwise the built file. */
function program(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './program.ts' : './program.js', import.meta.url)
}

/** The import conditions of this process, so that `import 'troupe'` means the same package in the node. */
function conditions(): string[] {
  return process.execArgv.flatMap((word, index, words) => {
    if (/^--conditions=|^-C./.test(word)) return [word]
    return word === '--conditions' || word === '-C' ? [`--conditions=${words[index + 1] ?? ''}`] : []
  })
}
