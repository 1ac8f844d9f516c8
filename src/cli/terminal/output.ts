/**
 * Duty: the two streams. Data goes to stdout, everything else to stderr; with --json stdout is one object per line.
 * OUT-1 If a reader goes away (`| head`), the command writes no more, and goes on. A command whose only work is to write ends (`readerLeft`).
 * OUT-2 Colours appear only where styleText wants them (terminal, NO_COLOR, FORCE_COLOR); the cursor moves only on a terminal that is
 *       not dumb.
 * OUT-3 Foreign text is escaped on its way out, also into a pipe, unless the person asked for it raw.
 */
import { styleText } from 'node:util'
import { isDumbTerminal } from '../../config.ts'
import { escapeJson, escapeLine, escapeText } from '../../words/text/escape.ts'
import type { Page, Style } from '../view/page.ts'

export interface JsonFlag {
  readonly json?: boolean
}

const columnsDefault = 80
const closed = new Set<NodeJS.WriteStream>()
let isDataLost = false
const left = Promise.withResolvers<void>()
/** Resolves when somebody has read enough of stdout, and closed it. This is noticed as something is written. */
export const readerLeft: Promise<void> = left.promise

/** Call it once, before anything is written. */
export function surviveClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      closed.add(stream)
      if (stream === process.stdout) left.resolve()
      // A reader that has seen enough is no error; a full disk is.
      if (error.code === 'EPIPE' || stream !== process.stdout) return
      isDataLost = true
      tell(`troupe: the output could not be written: ${error.message}`)
    })
  }
}

/** Writes one line of data. The caller has escaped it. */
export function print(line: string): void {
  write(process.stdout, `${line}\n`)
}

/** Writes one object of data, on a line of its own. */
export function printJson(value: unknown): void {
  write(process.stdout, `${escapeJson(JSON.stringify(value))}\n`)
}

/** Writes one line for people, beside the data. The caller has escaped it. */
export function tell(line: string): void {
  write(process.stderr, `${line}\n`)
}

/** Writes foreign text as data: escaped, or unchanged if the person asked for that. */
export function printText(text: string, { raw = false }: { readonly raw?: boolean } = {}): void {
  const printed = raw ? text : escapeText(text)
  write(process.stdout, printed.endsWith('\n') ? printed : `${printed}\n`)
}

/** How wide lines on stdout may be, and how they are coloured. */
export function pageOf(stream: NodeJS.WriteStream = process.stdout): Page {
  return { columns: columnsOf(stream), paint: (style, text) => paint(style, text, stream) }
}

/** The width of the terminal; Infinity for a pipe or a file. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY ? stream.columns || columnsDefault : Number.POSITIVE_INFINITY
}

/** Whether lines can be drawn again in place. */
export function canDraw(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && !isDumbTerminal()
}

/** Whether a person may sit at one of the three streams. */
export function hasTerminal(): boolean {
  return [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY)
}

export function paint(style: Style | undefined, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return style === undefined ? text : styleText(style, text, { stream })
}

/** Escapes foreign text inside a line. */
export const safe = escapeLine

/** Resolves when all output has left the process; false if data could not be written. */
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
