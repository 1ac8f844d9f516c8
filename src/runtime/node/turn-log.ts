/**
 * Duty: the log of one turn's worker. It writes to the log of the node, with the ids of the worker, and tells those who follow the session,
 * who may be at another machine.
 * TURN-LOG-1 What followers are told is without secrets and bounded. A line that has no JSON form reaches the log of the node alone.
 */
import { readLogCall, type WorkerLog } from '../../core/definition/worker-log.ts'
import type { LivePublisher } from '../../core/ports/live.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import type { Telemetry } from '../../core/ports/telemetry.ts'
import { redactFields, redactSentence } from '../../core/secret/redact.ts'

const messageCharsMax = 4_096
const fieldsCharsMax = 16_384

interface LogOf {
  readonly log: WorkerLog
  readonly live: LivePublisher
  readonly nodeId: string
  readonly telemetry: Telemetry
}

export function turnLog(
  { log, live, nodeId, telemetry }: LogOf,
  { sessionId, workerId, kind }: Assignment,
  run: number,
): WorkerLog {
  const ids = { session: sessionId, worker: workerId, kind, run }
  const at = (level: keyof WorkerLog) => (text: string, more?: Record<string, unknown>) => {
    const [message, fields] = readLogCall(text, more)
    log[level](message, { ...ids, ...telemetry.logFields?.(workerId), ...fields })
    if (!live.isFollowed(sessionId)) return
    const line = { level, message: redactSentence(message.slice(0, messageCharsMax)), fields: boundedFields(fields) }
    live.publish(sessionId, workerId, [['worker.logged', { ...line, node: nodeId }]])
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function boundedFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    if (JSON.stringify(fields).length <= fieldsCharsMax) return redactFields(fields)
  } catch {}
  return { fields: 'too large to be sent: see the log of the node' }
}
