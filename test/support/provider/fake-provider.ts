/** The fake provider as a process, with its journal, for one test. */
import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sharedEnv } from '../package/shared-env.ts'
import { type JournalLine, readJournal } from './provider-journal.ts'

const program = new URL('../../programs/fake-provider.ts', import.meta.url)

type News =
  | { readonly port: number }
  | { readonly error: string }
  | { readonly killed: number }
  | { readonly served: number }

export class FakeProvider implements AsyncDisposable {
  readonly url: string
  /** The errors of the provider itself. */
  readonly errors: string[] = []
  /** When the provider killed which process. */
  readonly kills = new Map<number, number>()
  /** The requests that it answered with a whole reply. */
  readonly served = new Set<number>()
  readonly #child: ChildProcess
  readonly #folder: string

  private constructor(child: ChildProcess, folder: string, port: number) {
    this.#child = child
    this.#folder = folder
    this.url = `http://127.0.0.1:${port}`
    child.on('message', (news: News) => {
      if ('error' in news) this.errors.push(news.error)
      if ('killed' in news) this.kills.set(news.killed, Date.now())
      if ('served' in news) this.served.add(news.served)
    })
  }

  /** `failing`: which part of all requests it does not serve, by chance. */
  static async start({ failing = 0 }: { readonly failing?: number } = {}): Promise<FakeProvider> {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-provider-'))
    closeSync(openSync(join(folder, 'journal.ndjson'), 'a'))
    const child = fork(program, [join(folder, 'journal.ndjson'), String(failing)], {
      execArgv: ['--conditions=troupe-source'],
      env: { PATH: process.env.PATH, ...sharedEnv() },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (news: News) =>
        'port' in news ? resolve(news.port) : reject(new Error(JSON.stringify(news))),
      )
      child.once('exit', (code) => reject(new Error(`The fake provider ended with ${code}.`)))
    })
    return new FakeProvider(child, folder, port)
  }

  /** Resolves when the provider has heard what was sent to it before. */
  async heeded(): Promise<void> {
    await (await fetch(this.url)).text()
  }

  journal(): JournalLine[] {
    return readJournal(join(this.#folder, 'journal.ndjson'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const gone = new Promise((resolve) => this.#child.once('exit', resolve))
      this.#child.disconnect()
      await gone
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
