/** A terminal at which a test types key by key, and whose screen it reads. */
import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
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

  /** Waits until the screen has exactly these lines. */
  shows(...lines: string[]): Promise<void> {
    return expect.poll(() => this.screen.lines, { timeout: 60_000, interval: 10 }).toEqual(lines)
  }

  /** Waits until the screen has a line like this. */
  showsLine(line: RegExp): Promise<void> {
    return expect
      .poll(() => this.screen.lines, { timeout: 60_000, interval: 10 })
      .toContainEqual(expect.stringMatching(line))
  }
}
