/**
 * Duty: record each call of a node in a file outside of Redis. Each line is written to the system before the node goes on, so that it survives
 * the SIGKILL of the node.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Side } from './crash-point.ts'

export interface JournalLine {
  readonly side: Side
  readonly call: string
  /** Process id of the node. */
  readonly pid: number
  /** Only set for calls of user code. */
  readonly run?: UserCode | undefined
}

/** A call of user code. */
export interface UserCode {
  readonly what: 'receive' | 'tool' | 'model' | 'onCancel'
  /** Kind of the worker. */
  readonly kind: string
  /** Name of the tool. Null for calls without a name. */
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

/** Skips a line that the kill cut off. */
export function readJournal(path: string): JournalLine[] {
  return readFileSync(path, { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as JournalLine)
}
