/** Duty: read queries that are shown again, after a while. To read a session of thousands of workers takes long, so it is not read for each event. */
import { queries } from './queries.ts'

const readMsLeast = 100
/** What is shown is read again at the earliest after this many times the time that reading it took. */
const readPause = 3

export class PacedRead {
  readonly #isOf: (path: string) => boolean
  #timer: ReturnType<typeof setTimeout> | undefined
  #readMs = 0

  constructor(isOf: (path: string) => boolean) {
    this.#isOf = isOf
  }

  soon(): void {
    this.#timer ??= setTimeout(
      () => {
        const begin = performance.now()
        const read = queries.refetchQueries(
          { type: 'active', predicate: ({ queryKey: [path] }) => this.#isOf(String(path)) },
          { cancelRefetch: false },
        )
        void read.finally(() => {
          this.#readMs = performance.now() - begin
        })
        this.#timer = undefined
      },
      Math.max(readMsLeast, this.#readMs * readPause),
    )
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
