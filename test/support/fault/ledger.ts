/**
 * What really ran, outside of Redis: handlers append lines to a file and sync it before they go on, so that a line survives
 * whatever kills its process next.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface LedgerLine {
  /** The thing that happened, in words of the test's own. */
  readonly what: string
  readonly worker: string
  readonly run: number
  readonly attempt: number
  /** The name of the node. */
  readonly node: string
  readonly pid: number
  readonly at: number
  readonly note?: unknown
}

/** The writing side, in the process of a node. */
export function appendLine(file: string, line: LedgerLine): void {
  const handle = openSync(file, 'a')
  try {
    writeSync(handle, `${JSON.stringify(line)}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** The reading side, in the test. */
export class Ledger implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'troupe-ledger-'))
  readonly file = join(this.#folder, 'ledger.ndjson')

  constructor() {
    closeSync(openSync(this.file, 'a'))
  }

  /** All lines, or those of one sort. A line that a kill cut short is passed over. */
  lines(what?: string): LedgerLine[] {
    const whole = readFileSync(this.file, 'utf8').split('\n').slice(0, -1)
    const lines = whole.map((line) => JSON.parse(line) as LedgerLine)
    return what === undefined ? lines : lines.filter((line) => line.what === what)
  }

  /** A line of the test's own, which handlers wait for. */
  append(what: string): void {
    appendLine(this.file, { what, worker: '', run: 0, attempt: 0, node: '', pid: process.pid, at: Date.now() })
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
