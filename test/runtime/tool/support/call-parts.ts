/** The parts of a call, with what a test wants to see of it. */

import type { WorkerLog } from '../../../../src/core/definition/worker-log.ts'
import { defaultSessionLimits } from '../../../../src/core/policy.ts'
import type { ToolCallParts } from '../../../../src/runtime/tool/attempt.ts'

export interface LogLine {
  readonly level: keyof WorkerLog
  readonly message: string
  readonly fields: Record<string, unknown> | undefined
}

export interface SeenCall {
  readonly parts: ToolCallParts
  readonly stop: AbortController
  readonly progress: unknown[]
  readonly lines: LogLine[]
}

export function callParts(changes: Partial<ToolCallParts> = {}): SeenCall {
  const stop = new AbortController()
  const progress: unknown[] = []
  const lines: LogLine[] = []
  const at = (level: keyof WorkerLog) => (message: string, fields?: Record<string, unknown>) => {
    lines.push({ level, message, fields })
  }
  const parts: ToolCallParts = {
    workerId: 'worker-1',
    sessionId: 'session-1',
    toolCallId: 'call-1',
    depth: 0,
    limits: defaultSessionLimits,
    input: 'what the run was asked',
    attempt: 1,
    idempotencyKey: 'worker-1/1/call-1',
    signal: stop.signal,
    folder: null,
    log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    facts: {},
    children: [],
    onProgress: (value) => void progress.push(value),
    ...changes,
  }
  return { parts, stop, progress, lines }
}
