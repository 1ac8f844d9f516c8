/**
 * Duty: a line that a person may type at any time, below everything else that is written, and lines above it that are drawn again in place.
 * STANDING-1 What is being typed is never lost nor broken by what is written meanwhile.
 * STANDING-2 While it stands, it owns the terminal: keys come here, and Ctrl+C is a key. After the end the terminal is as it was.
 * STANDING-3 Node's readline edits the line and keeps the history; it draws into nothing, and the line is drawn from what it holds.
 */
import { createInterface, type Interface, type Key } from 'node:readline'
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { breakText, textWidth } from '../../words/text/text-width.ts'
import { DrawnLines } from './drawn-lines.ts'
import { hasEnded, surviveLoss } from './lost-terminal.ts'
import { canDraw, write } from './output.ts'

/** An Esc that no other byte follows within this time is the key. */
const escapeMs = 50
/** A status may change a hundred times a second. */
const drawEveryMs = 60
const rowsDefault = 24

export interface PromptKeys {
  /** `alt`: Alt was held when Enter was pressed. */
  readonly onLine: (text: string, alt: boolean) => void
  readonly onEscape: () => void
  /** Called for Ctrl+C. */
  readonly onInterrupt: () => void
  /** Ctrl+D in an empty line. */
  readonly onEnd: () => void
  /** The terminal is gone: the person asked for nothing. */
  readonly onLost: () => void
  /** The lines that Tab may make of the typed one. */
  readonly complete: (line: string) => readonly string[]
}

export interface PromptTerminal {
  readonly stdin?: NodeJS.ReadStream
  readonly stream?: NodeJS.WriteStream
}

/** The lines above the typed one, for a width and a highest number of rows. */
export type StatusLines = (columns: number, rows: number) => readonly string[]

export class StandingPrompt implements Disposable {
  readonly #stdin: NodeJS.ReadStream
  readonly #stream: NodeJS.WriteStream
  readonly #lines: DrawnLines
  readonly #keys: PromptKeys
  #reader: Interface | undefined
  #text = '> '
  #status: StatusLines = () => []
  #timer: NodeJS.Timeout | undefined
  #history: string[] = []

  constructor(keys: PromptKeys, stdin: NodeJS.ReadStream = process.stdin, stream: NodeJS.WriteStream = process.stderr) {
    this.#keys = keys
    this.#stdin = stdin
    this.#stream = stream
    this.#lines = new DrawnLines(stream)
    surviveLoss(stdin)
  }

  /** Whether a person can type here. */
  static isPossible(stdin: NodeJS.ReadStream = process.stdin, stream: NodeJS.WriteStream = process.stderr): boolean {
    return stdin.isTTY && !hasEnded(stdin) && canDraw(stream)
  }

  /** The text that is typed and not entered. */
  get typed(): string {
    return this.#reader?.line ?? ''
  }

  /** Shows the prompt, and listens. */
  stand(): void {
    const output = new Writable({ write: (_chunk, _encoding, done) => done() })
    // It is wider than any line: readline need not know where the terminal breaks the line.
    Object.assign(output, { columns: Number.MAX_SAFE_INTEGER, isTTY: true })
    const reader = createInterface({
      input: this.#stdin,
      output,
      terminal: true,
      history: this.#history,
      escapeCodeTimeout: escapeMs,
      completer: (line: string) => this.#complete(line),
    })
    this.#reader = reader
    surviveLoss(reader)
    reader.on('history', (history) => (this.#history = [...history]))
    reader.on('line', (line) => this.#enter(line, false))
    reader.on('SIGINT', this.#keys.onInterrupt)
    reader.on('close', this.#onClose)
    reader.on('SIGCONT', this.#draw)
    this.#stdin.on('keypress', this.#onKey)
    this.#stream.on('resize', this.#draw)
    this.#draw()
  }

  /** Leaves the terminal to somebody else, such as an editor, until `stand`. */
  leave(): void {
    const reader = this.#reader
    if (reader === undefined) return
    this.#reader = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stdin.off('keypress', this.#onKey)
    this.#stream.off('resize', this.#draw)
    reader.off('close', this.#onClose)
    reader.close()
    this.#lines.wipe()
  }

  [Symbol.dispose](): void {
    this.leave()
  }

  /** Writes lines above the prompt. These lines stay. */
  tell(...lines: readonly string[]): void {
    if (this.#reader) this.#draw(lines)
    else for (const line of lines) write(this.#stream, `${line}\n`)
  }

  /** Lets something else write to the terminal meanwhile. */
  aside(writes: () => void): void {
    this.#lines.wipe()
    writes()
    this.#draw()
  }

  /** The text in front of the typed line: escaped, with a space after it. */
  set text(text: string) {
    if (text === this.#text) return
    this.#text = text
    this.#draw()
  }

  /** The lines above the typed line. `refresh` asks for the lines again. */
  set status(lines: StatusLines) {
    this.#status = lines
    this.refresh()
  }

  refresh(): void {
    if (this.#reader) this.#timer ??= setTimeout(this.#draw, drawEveryMs)
  }

  readonly #onClose = (): void => (hasEnded(this.#stdin) ? this.#keys.onLost() : this.#keys.onEnd())

  readonly #onKey = (_text: string | undefined, key: Key): void => {
    const reader = this.#reader
    if (reader === undefined) return
    if (key.name === 'escape' && !key.ctrl) this.#keys.onEscape()
    else if ((key.name === 'return' || key.name === 'enter') && key.meta) {
      const { line } = reader
      reader.write(null, { ctrl: true, name: 'e' })
      reader.write(null, { ctrl: true, name: 'u' })
      this.#enter(line, true)
    }
    if (this.#reader) this.#draw()
  }

  /** What all candidates begin with is typed; if that adds nothing, they are shown. */
  #complete(line: string): [string[], string] {
    const found = [...this.#keys.complete(line)]
    if (found.length > 1 && commonBeginning(found) === line) this.tell(found.join('  '))
    return [found, line]
  }

  #enter(line: string, alt: boolean): void {
    if (line.trim() !== '') this.#keys.onLine(line, alt)
  }

  readonly #draw = (above?: unknown): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#reader === undefined) return
    const { columns } = this.#lines
    const { rows, line, column } = this.#inputRows(columns)
    const room = Math.max(0, (this.#stream.rows || rowsDefault) - rows.length - 1)
    const status = this.#status(columns, room).slice(-room || undefined)
    const shown = room === 0 ? [] : status
    const cursor = { line: shown.length + line, column }
    this.#lines.draw([...shown, ...rows], Array.isArray(above) ? (above as string[]) : [], cursor)
  }

  /** The prompt and the typed line, broken at the width of the terminal, and where the cursor is in them. */
  #inputRows(columns: number): { rows: string[]; line: number; column: number } {
    const { line: typed = '', cursor = 0 } = this.#reader ?? {}
    const visible = (text: string) => text.replaceAll(/[\p{Cc}]/gu, '�')
    const head = stripVTControlCharacters(this.#text)
    const before = breakText(head + visible(typed.slice(0, cursor)), columns)
    const rows = breakText(head + visible(typed), columns)
    const [first = '', ...rest] = rows
    const painted = first.startsWith(head) ? this.#text + first.slice(head.length) : first
    return { rows: [painted, ...rest], line: before.length - 1, column: textWidth(before.at(-1) ?? '') }
  }
}

function commonBeginning([first = '', ...more]: readonly string[]): string {
  let length = first.length
  for (const one of more) while (!one.startsWith(first.slice(0, length))) length--
  return first.slice(0, length)
}
