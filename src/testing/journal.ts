/**
 * Duty: what a node did, call by call, in a file outside of Redis. A line is handed to the system before the node goes on, so that it
 * outlives the node's SIGKILL.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Side } from './crash-point.ts'

export interface JournalLine {
  readonly side: Side
  readonly call: string
  /** Process of the node. */
  readonly pid: number
  /** Of code of the user's alone. */
  readonly run?: UserCode | undefined
}

/** A call of code that is not troupe's. */
export interface UserCode {
  readonly what: 'receive' | 'tool' | 'model'
  /** Of the worker. */
  readonly kind: string
  /** Of the tool; null for what has no name of its own. */
  readonly name: string | null
  readonly workerId: string
  readonly idempotencyKey: string
}

export class JournalWriter {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  write(line: JournalLine): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** A line that a kill cut short is passed over. */
export function readJournal(path: string): JournalLine[] {
  return readFileSync(path, { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as JournalLine)
}
