/**
 * Duty: where words go. Data on stdout, everything else on stderr; with --json one object per line on stdout.
 * O-a A reader that goes away (`| head`) ends the writing, never the command.
 * O-b Colours only where styleText finds them wanted (terminal, NO_COLOR, FORCE_COLOR); cursor control only on a terminal that is not dumb.
 */
import { styleText } from 'node:util'
import { isDumbTerminal } from '../../config.ts'
import { escapeJson, escapeLine, escapeText } from './escape.ts'
import { type Column, tableLines } from './table.ts'

export interface JsonFlag {
  readonly json?: boolean
}

type Style = Parameters<typeof styleText>[0]

const columnsDefault = 80
const closed = new Set<NodeJS.WriteStream>()
let isDataLost = false

/** To be called once, before anything is written. */
export function surviveClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      closed.add(stream)
      // A full disk and its like are worth a word; a reader that has seen enough is not.
      if (error.code === 'EPIPE' || stream !== process.stdout) return
      isDataLost = true
      tell(`troupe: the output could not be written: ${error.message}`)
    })
  }
}

/** One line of data. The caller has made it safe. */
export function print(line: string): void {
  write(process.stdout, `${line}\n`)
}

/** One object of data, on a line of its own. */
export function printJson(value: unknown): void {
  write(process.stdout, `${escapeJson(JSON.stringify(value))}\n`)
}

/** One line for people, beside the data. The caller has made it safe. */
export function tell(line: string): void {
  write(process.stderr, `${line}\n`)
}

/** Text of others, as data: as it is for a program, made safe for a terminal. */
export function printText(text: string): void {
  const preview = process.stdout.isTTY ? escapeText(text) : text
  write(process.stdout, preview.endsWith('\n') ? preview : `${preview}\n`)
}

/** A value for people: text as it is, anything else as indented JSON. */
export function printValue(value: unknown): void {
  printText(typeof value === 'string' ? value : JSON.stringify(value, null, 2))
}

/** Rows, as a table or as one object per line; `empty` is said beside the data when there is none. */
export function printRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  flags: JsonFlag,
  empty: string,
): void {
  if (flags.json) {
    for (const row of rows) printJson(row)
    return
  }
  printTable(rows, columns)
  if (rows.length === 0) tell(empty)
}

export function printTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void {
  for (const line of tableLines(rows, columns, columnsOf(process.stdout))) print(line)
}

/** `label  value` lines; what has no value is left out. */
export function printFacts(facts: readonly (readonly [label: string, value: string | null | undefined])[]): void {
  const known = facts.filter((fact): fact is readonly [string, string] => fact[1] != null && fact[1] !== '')
  const width = known.reduce((most, [label]) => Math.max(most, label.length), 0)
  for (const [label, value] of known) print(`${dim(label.padEnd(width))}  ${value}`)
}

/** Width to lay out for: that of the terminal, and none where lines are read by a program. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY ? stream.columns || columnsDefault : Number.POSITIVE_INFINITY
}

/** Whether lines can be drawn again in place. */
export function canDraw(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && !isDumbTerminal()
}

export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream })
}

export function dim(text: string): string {
  return paint('dim', text)
}

/** Text of others inside a line. */
export const safe = escapeLine

/** Resolves when all that was written has left the process; false when data could not be written. */
export async function flush(): Promise<boolean> {
  await Promise.all([process.stdout, process.stderr].map(drain))
  return !isDataLost
}

export function write(stream: NodeJS.WriteStream, text: string): void {
  if (!closed.has(stream)) stream.write(text)
}

function drain(stream: NodeJS.WriteStream): Promise<void> {
  if (closed.has(stream) || stream.writableLength === 0) return Promise.resolve()
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.write('', () => resolve())
  })
}
