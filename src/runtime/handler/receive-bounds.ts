/**
 * Duty: how much one receive may ask for, checked by each call: the commit that records it holds Redis for as long as it takes (turn/step/step-size.ts).
 * Does not own: the limit of each value (core/json.ts), and the limits of a session.
 */
import { LimitError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'
import { hasRoomFor, type Part, type Parts, partsMost } from '../turn/step/step-size.ts'

const partOf = { spawn: 'spawn', send: 'send', ask: 'ask', after: 'timer' } as const satisfies Record<string, Part>

export class ReceiveBounds {
  readonly #kind: string
  readonly #requests: Parts
  /** How many bytes the handler has passed so far, and how many of them are the state. */
  #bytes = 0
  #stateBytes = 0

  constructor(kind: string, requests: Parts) {
    this.#kind = kind
    this.#requests = requests
  }

  /** Throws if the receive has already asked for as much as it may. */
  checkOneMore(call: keyof typeof partOf): void {
    if (hasRoomFor(partOf[call], this.#requests)) return
    const { spawns, sends, timers, asks } = this.#requests
    const made = `${spawns.length} spawns, ${sends.length} sends, ${asks.length} asks and ${timers.length} timers`
    const most = `${partsMost('spawn')} spawns, ${partsMost('send')} sends, ${partsMost('ask')} asks or ${partsMost('timer')} timers`
    throw this.#tooBig(call, `had already made ${made}; the limit is ${most}, or a mix that costs as much,`)
  }

  /** Counts the bytes of what a call passes. The bytes of a refused call are not counted. */
  count(call: string, text: string): void {
    this.#bytes = this.#counted(call, this.#bytes, Buffer.byteLength(text))
  }

  /** A new state takes the place of one that was set before. */
  countState(stateJson: string): void {
    const bytes = Buffer.byteLength(stateJson)
    this.#bytes = this.#counted('setState', this.#bytes - this.#stateBytes, bytes)
    this.#stateBytes = bytes
  }

  #counted(call: string, before: number, bytes: number): number {
    if (before + bytes <= policy.stepBytesMax) return before + bytes
    const limit = `pass more than ${policy.stepBytesMax} bytes, the limit`
    throw this.#tooBig(call, `had already passed ${before} bytes, and with this call it would ${limit}`)
  }

  #tooBig(call: string, what: string): LimitError {
    const advice = 'ask for the rest in another receive (self.after(0, rest))'
    return new LimitError(
      'step_too_big',
      `self.${call} was called when ${this.#kind} ${what} of one receive: ${advice}.`,
    )
  }
}
