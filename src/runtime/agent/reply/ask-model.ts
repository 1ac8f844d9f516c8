/**
 * Duty: make one model call of a turn: limit its time, note its first byte, have its text told while it streams.
 * Does not own: retries (retries.ts), what the reply means (think.ts), the streamed text (streamed-reply.ts).
 * ASK-1 The call ends when the turn's signal fires, when a message interrupts it, when nothing of the reply has arrived for some time, and when its whole time is over,
 *       even if the model ignores its signal.
 */

import type { AgentLimits } from '../../../core/definition/agent/define-agent.ts'
import type { Model, ModelReply, ModelRequest } from '../../../core/definition/model.ts'
import { TimeoutError, toRuntimeError } from '../../../core/errors.ts'
import { type Attributes, noTelemetry, type Telemetry } from '../../../core/ports/telemetry.ts'
import type { Turn } from '../../turn/turn.ts'
import type { OpenRequest } from './open-request.ts'
import { StreamedReply } from './streamed-reply.ts'

/** Throws what the model throws, or the reason of the turn's signal when the turn is aborted. */
export async function askModel(
  turn: Turn,
  model: Model,
  request: ModelRequest,
  iteration: number,
  limits: AgentLimits = {},
  telemetry: Telemetry = noTelemetry,
  open?: OpenRequest,
): Promise<ModelReply> {
  const { sessionId, workerId, kind, run } = turn.assignment
  const attributes = { sessionId, workerId, kind, run, model: model.id, iteration }
  const span = telemetry.startSpan('model_call', attributes)
  const startedAt = performance.now()
  const first: { ms?: number | undefined } = { ms: undefined }
  const onBegun = () => {
    first.ms = performance.now() - startedAt
  }
  try {
    const reply = await answerOf(turn, model, request, { iteration, limits, onBegun, open })
    span.end({ outcome: 'replied', ...factsOf(reply), firstMs: first.ms })
    countTokens(telemetry, reply, attributes)
    return reply
  } catch (thrown) {
    span.end({ outcome: 'failed', code: toRuntimeError(thrown).code })
    throw thrown
  }
}

/** A model that somebody wrote may leave out anything. */
function factsOf(reply: Partial<ModelReply> | undefined): Attributes {
  const { usage, finishReason, model: repliedBy } = reply ?? {}
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage ?? {}
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, finishReason, repliedBy }
}

function countTokens(telemetry: Telemetry, reply: Partial<ModelReply> | undefined, attributes: Attributes): void {
  telemetry.count('tokens.input', reply?.usage?.inputTokens ?? 0, attributes)
  telemetry.count('tokens.output', reply?.usage?.outputTokens ?? 0, attributes)
}

interface CallParts {
  readonly iteration: number
  readonly limits: AgentLimits
  /** Called once, when the first of the reply has arrived. */
  readonly onBegun: () => void
  /** Counts what leaves and what is used, until the call is over. */
  readonly open: OpenRequest | undefined
}

async function answerOf(
  turn: Turn,
  model: Model,
  request: ModelRequest,
  { iteration, limits, onBegun, open }: CallParts,
): Promise<ModelReply> {
  const { modelIdleMs = turn.host.policy.modelIdleMs, modelCallMs = turn.host.policy.modelCallMs } = limits
  const streamed = new StreamedReply(turn, iteration)
  const asked = new AbortController()
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  stopped.catch(() => {})
  const stop = (reason: Error) => {
    reject(reason)
    asked.abort(reason)
  }
  /** Has something of the reply arrived? */
  let hasBegun = false
  const unlisten = turn.steers.work.whenAborted(stop)
  const timeOut = (what: string, ms: number) =>
    setTimeout(() => stop(new TimeoutError(`model ${model.id} ${what}.`, { details: { hasBegun } })), ms)
  const whole = timeOut(`gave no whole reply within ${modelCallMs} ms; limits.modelCallMs may be higher`, modelCallMs)
  const idle = timeOut(`sent nothing for ${modelIdleMs} ms; limits.modelIdleMs may be higher`, modelIdleMs)
  let isOver = false
  const arrived = () => {
    if (!hasBegun) onBegun()
    hasBegun = true
    // A model may go on after its call has ended. The timer must not start again.
    if (!isOver) idle.refresh()
  }
  turn.report('AwaitingLLMResponse')
  try {
    const asking = model.reply(request, {
      signal: asked.signal,
      onFirstByte: () => {
        arrived()
        turn.report('AwaitingLLMResponse', true)
      },
      onDelta: (delta) => {
        arrived()
        streamed.add(delta)
      },
      onActivity: arrived,
      onSent: () => {
        if (!isOver) open?.sent()
      },
      onUsage: (usage) => {
        if (!isOver) open?.used(usage)
      },
      onSkipped: (what) => {
        const { assignment, position } = turn
        const log = turn.host.workerLog(assignment, position.run)
        log.warn('a part of a reply was skipped', { model: model.id, what })
      },
    })
    return await Promise.race([asking, stopped])
  } finally {
    isOver = true
    clearTimeout(whole)
    clearTimeout(idle)
    unlisten()
    streamed.close()
    turn.report()
  }
}
