/**
 * Duty: make one model call of a turn: limit its time, note its first byte, publish its text while it streams.
 * Does not own: retries (retries.ts), what the reply means (think.ts).
 * ASK-1 The call ends when the turn's signal fires or the time is over, even if the model ignores its signal.
 */

import type { Model, ModelDelta, ModelReply, ModelRequest } from '../../core/definition/model.ts'
import { TimeoutError } from '../../core/errors.ts'
import type { LiveNote } from '../../core/ports/ports.ts'
import { type Attributes, noTelemetry, type Telemetry } from '../../core/ports/telemetry.ts'
import type { Turn } from '../turn/turn.ts'

/** Throws what the model throws, or the reason of the turn's signal when the turn is aborted. */
export async function askModel(
  turn: Turn,
  model: Model,
  request: ModelRequest,
  iteration: number,
  telemetry: Telemetry = noTelemetry,
): Promise<ModelReply> {
  const { sessionId, workerId } = turn.assignment
  const attributes = { sessionId, workerId, model: model.id, iteration }
  const span = telemetry.startSpan('model_call', attributes)
  try {
    const reply = await answerOf(turn, model, request, iteration)
    span.end({ outcome: 'replied' })
    countTokens(telemetry, reply, attributes)
    return reply
  } catch (thrown) {
    span.end({ outcome: 'failed' })
    throw thrown
  }
}

function countTokens(telemetry: Telemetry, reply: Partial<ModelReply> | undefined, attributes: Attributes): void {
  telemetry.count('tokens.input', reply?.usage?.inputTokens ?? 0, attributes)
  telemetry.count('tokens.output', reply?.usage?.outputTokens ?? 0, attributes)
}

async function answerOf(turn: Turn, model: Model, request: ModelRequest, iteration: number): Promise<ModelReply> {
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
    return await Promise.race([asking, stopped])
  } finally {
    clearTimeout(timer)
    unlisten()
    deltas.close()
    turn.report()
  }
}

/** Collects streamed text and publishes it in larger pieces, because one message per word would be too many. */
class Deltas {
  readonly #turn: Turn
  readonly #iteration: number
  #waiting: ModelDelta[] = []
  #timer: NodeJS.Timeout | undefined
  #hasPublished = false
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

  /** Publishes the rest of a reply of which a part was published. A reply that came at once is not published here at all. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    if (this.#hasPublished && this.#waiting.length > 0) this.#publish()
  }

  #publish(): void {
    this.#timer = undefined
    this.#hasPublished = true
    const iteration = this.#iteration
    const notes = this.#waiting.map(
      ({ type, text }): LiveNote => [type === 'text' ? 'text.delta' : 'reasoning.delta', { text, iteration }],
    )
    this.#waiting = []
    const { assignment, host } = this.#turn
    host.live.publish(assignment.sessionId, assignment.workerId, notes)
  }
}
