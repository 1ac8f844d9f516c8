/**
 * Duty: make one model call of a turn: limit its time, note its first byte, have its text told while it streams.
 * Does not own: retries (retries.ts), what the reply means (think.ts), the streamed text (streamed-reply.ts).
 * ASK-1 The call ends when the turn's signal fires or the time is over, even if the model ignores its signal.
 */

import type { Model, ModelReply, ModelRequest } from '../../core/definition/model.ts'
import { TimeoutError } from '../../core/errors.ts'
import { type Attributes, noTelemetry, type Telemetry } from '../../core/ports/telemetry.ts'
import type { Turn } from '../turn/turn.ts'
import { StreamedReply } from './streamed-reply.ts'

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
  const streamed = new StreamedReply(turn, iteration)
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
      onDelta: (delta) => streamed.add(delta),
    })
    return await Promise.race([asking, stopped])
  } finally {
    clearTimeout(timer)
    unlisten()
    streamed.close()
    turn.report()
  }
}
