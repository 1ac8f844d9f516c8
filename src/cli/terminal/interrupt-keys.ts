/**
 * Duty: the keys of a person while a command works: Esc asks for the same as Ctrl+C.
 * KEYS-1 A terminal that is read key by key sends no signals, so that those of Ctrl+C, Ctrl+Z and Ctrl+\ are sent from here.
 * KEYS-2 What else is typed meanwhile is put back, and the next prompt finds it.
 * KEYS-3 A command in the background leaves the terminal alone: to change it would stop the command. Where nobody can tell, Esc does nothing.
 */
import { readFileSync } from 'node:fs'
import { surviveLoss } from './lost-terminal.ts'

type Signal = 'SIGINT' | 'SIGTSTP' | 'SIGQUIT'

const signalOf: ReadonlyMap<string, Signal> = new Map([
  ['\u0003', 'SIGINT'],
  ['\u001a', 'SIGTSTP'],
  ['\u001c', 'SIGQUIT'],
])

/**
 * The signal of the first key that has one. While code keeps this process busy, several keys arrive in one piece. An arrow begins with the character of
 * Esc, too, so that Esc counts only where nothing else is in the piece.
 */
function signalIn(data: Buffer): Signal | undefined {
  const text = data.toString('latin1')
  if (/^\u001b+$/.test(text)) return 'SIGINT'
  return signalOf.get(/[\u0003\u001a\u001c]/.exec(text)?.[0] ?? '')
}

type Terminal = Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause' | 'unshift'>

interface Surroundings {
  readonly stdin?: Terminal
  readonly send?: (signal: Signal) => void
  readonly isForeground?: () => boolean
}

export class InterruptKeys implements Disposable {
  readonly #stdin: Terminal
  readonly #send: (signal: Signal) => void
  readonly #isForeground: () => boolean
  readonly #typed: Buffer[] = []
  #isReading = false

  constructor({ stdin = process.stdin, send = sendToItself, isForeground = hasForeground }: Surroundings = {}) {
    this.#stdin = stdin
    this.#send = send
    this.#isForeground = isForeground
    if (!stdin.isTTY) return
    surviveLoss(stdin)
    this.#read()
    process.on('SIGCONT', this.#read)
  }

  readonly #read = (): void => {
    if (this.#isReading || !this.#isForeground()) return
    this.#isReading = true
    this.#stdin.setRawMode(true)
    this.#stdin.on('data', this.#onData)
    this.#stdin.resume()
  }

  readonly #onData = (data: Buffer): void => {
    const signal = signalIn(data)
    if (signal === undefined) {
      this.#typed.push(data)
      return
    }
    if (signal === 'SIGTSTP') this.#leave()
    this.#send(signal)
  }

  #leave(): void {
    if (!this.#isReading) return
    this.#isReading = false
    this.#stdin.off('data', this.#onData)
    this.#stdin.pause()
    this.#stdin.setRawMode(false)
  }

  [Symbol.dispose](): void {
    process.off('SIGCONT', this.#read)
    this.#leave()
    if (this.#typed.length > 0) this.#stdin.unshift(Buffer.concat(this.#typed))
  }
}

function sendToItself(signal: Signal): void {
  process.kill(process.pid, signal)
}

/** The group of this process is the one that its terminal listens to. Only Linux has a file that says so. */
function hasForeground(): boolean {
  try {
    // In /proc/self/stat, these fields follow the name of the program, which may hold spaces: state, parent, group, session, terminal, group in the
    // foreground.
    const [, , group, , , foreground] = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return group !== undefined && group === foreground
  } catch {
    return false
  }
}
