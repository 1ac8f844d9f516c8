/**
 * Duty: one model call of a turn: its time limit, its first byte, and its text to those who listen.
 * A1 It ends when the turn's signal fires or the time is over, even if the model ignores its signal.
 */

import type { Model, ModelDelta, ModelReply, ModelRequest } from '../../core/definition/model.ts'
import { TimeoutError, TransientError } from '../../core/errors.ts'
import type { LiveNote } from '../../core/ports/ports.ts'
import type { Turn } from '../turn/turn.ts'
import { checkedReply } from './reply.ts'

/** Throws what the model throws; the signal's reason when the turn was cancelled or is over. */
export async function askModel(
  turn: Turn,
  model: Model,
  request: ModelRequest,
  iteration: number,
): Promise<ModelReply> {
  const { policy } = turn.host
  const deltas = new Deltas(turn, iteration)
  const asked = new AbortController()
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  stopped.catch(() => {})
  const stop = (reason: Error) => {
    reject(reason)
    asked.abort(reason)
  }
  const unlisten = turn.whenAborted(stop)
  const timer = setTimeout(
    () => stop(new TimeoutError(`model ${model.id} gave no reply within ${policy.modelCallMs} ms.`)),
    policy.modelCallMs,
  )
  turn.report('AwaitingLLMResponse')
  try {
    const asking = model.reply(request, {
      signal: asked.signal,
      onFirstByte: () => {
        turn.report('AwaitingLLMResponse', true)
      },
      onDelta: (delta) => deltas.add(delta),
    })
    const reply = checkedReply(await Promise.race([asking, stopped]), model.id)
    checkSize(reply, model.id, policy.messageBytesMax)
    return reply
  } finally {
    clearTimeout(timer)
    unlisten()
    deltas.close()
    turn.report()
  }
}

/** A history entry has a limit; a model that writes more is asked again, and may be briefer. */
function checkSize(reply: ModelReply, id: string, most: number): void {
  const json = JSON.stringify(reply.content)
  // A UTF-16 unit is at most three bytes: most replies need no count.
  if (json.length * 3 <= most) return
  const bytes = Buffer.byteLength(json)
  if (bytes <= most) return
  throw new TransientError(`model ${id} replied with ${bytes} bytes; a reply may have ${most}.`, {
    code: 'model_garbled',
  })
}

/** Text that streams, published in pieces: many words make one message. */
class Deltas {
  readonly #turn: Turn
  readonly #iteration: number
  #waiting: ModelDelta[] = []
  #timer: NodeJS.Timeout | undefined
  #isHeard = false
  #closed = false

  constructor(turn: Turn, iteration: number) {
    this.#turn = turn
    this.#iteration = iteration
  }

  add(delta: ModelDelta): void {
    if (this.#closed || delta.text === '') return
    const last = this.#waiting.at(-1)
    if (last?.type === delta.type) this.#waiting[this.#waiting.length - 1] = { ...last, text: last.text + delta.text }
    else this.#waiting.push(delta)
    this.#timer ??= setTimeout(() => this.#publish(), this.#turn.host.policy.deltaEveryMs)
  }

  /** A reply that nobody saw coming is not published in pieces; one that was is published to its end. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    if (this.#isHeard && this.#waiting.length > 0) this.#publish()
  }

  #publish(): void {
    this.#timer = undefined
    this.#isHeard = true
    const iteration = this.#iteration
    const notes = this.#waiting.map(
      ({ type, text }): LiveNote => [type === 'text' ? 'text.delta' : 'reasoning.delta', { text, iteration }],
    )
    this.#waiting = []
    const { grant, host } = this.#turn
    host.live.publish(grant.sessionId, grant.workerId, notes)
  }
}
