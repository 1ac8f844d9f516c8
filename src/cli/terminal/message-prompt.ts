/**
 * Duty: the messages that a person types, one line each: at a prompt on a terminal, or from a pipe.
 * TYPED-1 Between two prompts the terminal is as it was, so that Ctrl+C is a signal like in any other command.
 * TYPED-2 The prompt is on stderr, because stdout is data.
 * TYPED-3 Where stdin was read to its end before, such as by `-`, nobody types any more: that is its end here, too.
 */
import { createInterface, type Interface } from 'node:readline'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { hasEnded, surviveLoss } from './lost-terminal.ts'
import { canDraw } from './output.ts'

/** `end`: Ctrl+D, or the end of the pipe. `interrupt`: Ctrl+C at the prompt, or the signal of the caller. */
type Typed =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'interrupt' }

const promptText = '> '
/** A terminal hands over within this time the next piece of what was typed before. */
const heldMs = 30
const interruptKey = '\u0003'

export class MessagePrompt implements Disposable {
  readonly #stdin: NodeJS.ReadStream
  readonly #stderr: NodeJS.WriteStream
  #history: string[] = []
  #pipe: { readonly reader: Interface; readonly lines: AsyncIterator<string> } | undefined

  constructor(stdin: NodeJS.ReadStream = process.stdin, stderr: NodeJS.WriteStream = process.stderr) {
    this.#stdin = stdin
    this.#stderr = stderr
  }

  /** Whether a person types. */
  get isShown(): boolean {
    return this.#stdin.isTTY && canDraw(this.#stderr)
  }

  /** The next line that is not empty. */
  async next(signal: AbortSignal, text = promptText): Promise<Typed> {
    for (;;) {
      if (signal.aborted) return { kind: 'interrupt' }
      if (this.#pipe === undefined && hasEnded(this.#stdin)) return { kind: 'end' }
      const typed = await (this.isShown ? this.#ask(signal, text) : this.#read(signal))
      if (typed.kind !== 'line' || typed.text.trim() !== '') return typed
    }
  }

  /**
   * Drops what was typed before the person could read what it would answer: what this process has read, and what the terminal still holds. That is all of
   * it where nobody read the keys meanwhile (KEYS-3).
   */
  async forgetTyped(): Promise<void> {
    let isHanding = true
    const drop = (data: Buffer) => {
      isHanding = true
      if (data.includes(interruptKey)) process.kill(process.pid, 'SIGINT')
    }
    surviveLoss(this.#stdin)
    // A line that is not ended yet is handed over in this mode alone.
    this.#stdin.setRawMode(true)
    this.#stdin.on('data', drop)
    this.#stdin.resume()
    while (isHanding) {
      isHanding = false
      await sleep(heldMs)
      // A process that was busy for that long has not looked at the terminal yet.
      await setImmediate()
    }
    this.#stdin.off('data', drop)
    this.#stdin.pause()
    this.#stdin.setRawMode(false)
  }

  [Symbol.dispose](): void {
    this.#pipe?.reader.close()
  }

  #ask(signal: AbortSignal, text: string): Promise<Typed> {
    const { promise, resolve } = Promise.withResolvers<Typed>()
    surviveLoss(this.#stdin)
    const reader = createInterface({ input: this.#stdin, output: this.#stderr, terminal: true, history: this.#history })
    surviveLoss(reader)
    const onAbort = () => resolve({ kind: 'interrupt' })
    signal.addEventListener('abort', onAbort, { once: true })
    reader.on('history', (history) => (this.#history = [...history]))
    reader.once('line', (line) => resolve({ kind: 'line', text: line }))
    reader.once('SIGINT', onAbort)
    reader.once('close', () => resolve({ kind: 'end' }))
    reader.setPrompt(text)
    reader.prompt()
    return promise.then((typed) => {
      signal.removeEventListener('abort', onAbort)
      reader.close()
      // What follows a prompt that was left begins on a line of its own.
      if (typed.kind !== 'line') this.#stderr.write('\n')
      return typed
    })
  }

  async #read(signal: AbortSignal): Promise<Typed> {
    if (this.#pipe === undefined) {
      const reader = createInterface({ input: this.#stdin, terminal: false })
      this.#pipe = { reader, lines: reader[Symbol.asyncIterator]() }
    }
    const { promise, resolve } = Promise.withResolvers<Typed>()
    const onAbort = () => resolve({ kind: 'interrupt' })
    signal.addEventListener('abort', onAbort, { once: true })
    const line = this.#pipe.lines
      .next()
      .then(({ done, value }): Typed => (done ? { kind: 'end' } : { kind: 'line', text: value }))
    const typed = await Promise.race([promise, line])
    signal.removeEventListener('abort', onAbort)
    return typed
  }
}
