/**
 * Duty: what a command found, as data: objects for programs and lines for people.
 * ANSWER-1 An answer is pure data. commands/verb.ts decides which of the two forms is printed, and how wide it may be.
 * ANSWER-2 The note is for people only: that there is nothing, or that there is more. It never mixes with the data.
 */
import type { RuntimeError } from '../../core/errors.ts'
import type { Page } from './page.ts'
import { type Column, tableLines } from './table.ts'

export interface Answer {
  /** Objects, each of which is one line of JSON. */
  readonly objects: readonly unknown[]
  readonly lines: (page: Page) => readonly string[]
  readonly note?: string | undefined
  /** Why the answer is not whole: the command shows it, and fails with this. */
  readonly failure?: RuntimeError | undefined
}

/** An answer of one line for people, and one object. */
export function sentence(object: unknown, line: string): Answer {
  return { objects: [object], lines: () => [line] }
}

interface Listing<Row> {
  readonly columns: readonly Column<Row>[]
  /** The object of a row, if it is not the row itself. */
  readonly object?: (row: Row) => unknown
  /** The note for a list without rows. */
  readonly empty: string
  /** The note for a list with rows. */
  readonly more?: string | undefined
  /** Why the list is not whole. Then nobody knows whether it is empty. */
  readonly failure?: RuntimeError | undefined
}

/** Rows as a table for people, or one object for each. */
export function listing<Row>(rows: readonly Row[], { columns, object, empty, more, failure }: Listing<Row>): Answer {
  return {
    objects: object ? rows.map(object) : rows,
    lines: (page) => tableLines(rows, columns, page),
    note: rows.length > 0 ? more : failure === undefined ? empty : undefined,
    failure,
  }
}

/** The note for a list that its limit cut short. */
export function moreNote(rows: readonly unknown[], limit: number, which: 'newest' | 'first'): string | undefined {
  if (rows.length !== limit) return undefined
  return `${limit === 1 ? `Only the ${which} one is` : `The ${which} ${limit} are`} shown; more with --limit.`
}

export type Fact = readonly [label: string, value: string | null | undefined]

/** `label  value` lines; a fact without a value is left out. */
export function factLines(facts: readonly Fact[], { paint }: Page): string[] {
  const known = facts.filter((fact): fact is readonly [string, string] => fact[1] != null && fact[1] !== '')
  const width = known.reduce((most, [label]) => Math.max(most, label.length), 0)
  return known.map(([label, value]) => `${paint('dim', label.padEnd(width))}  ${value}`)
}
