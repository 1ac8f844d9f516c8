/** A terminal at which a test types key by key, and whose screen it reads. */
import { PassThrough } from 'node:stream'
import { waitUntil } from '../../support/time/wait-until.ts'
import { Screen } from './screen.ts'

export class TypedTerminal {
  readonly screen: Screen
  readonly stdin: NodeJS.ReadStream
  readonly #keys: PassThrough

  constructor(columns = 41, rows = 24) {
    this.screen = new Screen(columns, rows)
    this.#keys = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => this.stdin })
    this.stdin = this.#keys as unknown as NodeJS.ReadStream
  }

  type(text: string): void {
    this.#keys.write(text)
  }

  /** The terminal is gone. */
  close(): void {
    this.#keys.end()
  }

  /** Waits until the screen has exactly these lines. */
  shows(...lines: string[]): Promise<unknown> {
    return this.#waits(`the screen shows ${JSON.stringify(lines)}`, (seen) => seen.join('\n') === lines.join('\n'))
  }

  /** Waits until the screen has a line like this. */
  showsLine(line: RegExp): Promise<unknown> {
    return this.#waits(`a line like ${line}`, (seen) => seen.some((one) => line.test(one)))
  }

  #waits(what: string, is: (seen: readonly string[]) => boolean): Promise<unknown> {
    return waitUntil(what, () => is(this.screen.lines)).catch((cause: unknown) => {
      throw new Error(`not seen: ${what}. The screen:\n${this.screen.lines.join('\n')}`, { cause })
    })
  }
}
