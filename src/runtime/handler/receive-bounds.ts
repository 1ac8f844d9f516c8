/**
 * Duty: how much one receive may ask for, checked by each call: the commit that records it holds Redis for as long as it takes (turn/step/step-size.ts).
 * Does not own: the limit of each value (core/json.ts), and the limits of a session.
 */
import { LimitError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'
import { fitsCommit, type Part, type Parts, partsMost, sizeOf, withMore } from '../turn/step/step-size.ts'

const partOf: Readonly<Partial<Record<string, Part>>> = { spawn: 'spawn', send: 'send', ask: 'ask', after: 'timer' }

/** At most this many bytes of the received message count. So a handler that received the largest message can still reply with the largest value. */
const receivedMost = Math.floor(policy.stepBytesMax / 10)

export class ReceiveBounds {
  readonly #kind: string
  readonly #requests: Parts
  /** Timers and asks of the run that were open before this receive, without the one that it receives. */
  readonly #openBefore: number
  readonly #received: unknown
  /** How much of the received message counts: the history holds it beside what the handler passes. */
  #receivedBytes: number | undefined
  /** How many bytes the handler has passed so far, and how many of them are the state. */
  #bytes = 0
  #stateBytes = 0

  /** `received`: the message. */
  constructor(kind: string, requests: Parts, openBefore: number, received: unknown) {
    this.#kind = kind
    this.#requests = requests
    this.#openBefore = openBefore
    this.#received = received
  }

  /** Throws if the receive has already asked for as much as it may. */
  checkOneMore(call: 'spawn' | 'send' | 'ask' | 'after'): void {
    this.#check(call, this.#bytes, 0)
    if (call === 'ask' || call === 'after') this.#checkOpen(call)
  }

  /** Counts the bytes of what a call passes, so many times. The bytes of a refused call are not counted. */
  count(call: string, text: string, times = 1): void {
    const bytes = Math.ceil(times * Buffer.byteLength(text))
    this.#check(call, this.#bytes, bytes)
    this.#bytes += bytes
  }

  /** A new state takes the place of one that was set before. */
  countState(stateJson: string): void {
    const bytes = Buffer.byteLength(stateJson)
    const others = this.#bytes - this.#stateBytes
    this.#check('setState', others, bytes)
    this.#bytes = others + bytes
    this.#stateBytes = bytes
  }

  #checkOpen(call: string): void {
    const open = this.#openBefore + this.#requests.timers.length + this.#requests.asks.length
    if (open < policy.openSignalsMax) return
    throw new LimitError(
      'signals_exceeded',
      `self.${call} was called when a run of ${this.#kind} had ${open} open timers and asks; the limit is ${policy.openSignalsMax}: wait until some of them have fired or ended, or let children wait (self.spawn).`,
    )
  }

  #check(call: string, before: number, bytes: number): void {
    const part = partOf[call]
    const fits = (received: number) => {
      const size = sizeOf(this.#requests, before + bytes + received)
      return fitsCommit(part === undefined ? size : withMore(size, part))
    }
    // Nearly no receive is so large that it matters how much it has received.
    if (fits(receivedMost)) return
    this.#receivedBytes ??= Math.min(receivedMost, Buffer.byteLength(JSON.stringify(this.#received)))
    if (fits(this.#receivedBytes)) return
    const { spawns, sends, timers, asks } = this.#requests
    const made = `${spawns.length} spawns, ${sends.length} sends, ${asks.length} asks and ${timers.length} timers`
    const passes = bytes === 0 ? '' : ` (this call adds ${bytes})`
    const most = `make ${partsMost('spawn')} spawns, ${partsMost('send')} sends, ${partsMost('ask')} asks or ${partsMost('timer')} timers, or pass ${policy.stepBytesMax} bytes`
    throw new LimitError(
      'step_too_big',
      `self.${call} was called when ${this.#kind} had already made ${made}, and passed ${before} bytes${passes} beside ${this.#receivedBytes} bytes of its message. One receive may ${most} at most, and less of each if it does several of them. Ask for the rest in another receive: self.after(0, rest).`,
    )
  }
}
