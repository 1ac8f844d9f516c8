/** Duty: a log record of a node as a line for people. */
import { formatTime } from './duration.ts'
import { escapeLine } from './escape.ts'

const levelNames: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
const errorLevel = 50
const known = new Set(['level', 'time', 'msg', 'session', 'worker', 'kind', 'run'])

/** `12:00:01  reader  info  read 12 files  bytes=5120`; undefined for what the events of the session tell already. */
export function logLine(json: string): string | undefined {
  const record = JSON.parse(json) as Record<string, unknown>
  // What the runtime says about a turn is an event as well; what a worker's own code logs carries its session.
  const isRuntimeOnTurn = record.worker !== undefined && record.session === undefined
  if (isRuntimeOnTurn && Number(record.level) < errorLevel) return undefined
  const fields = Object.entries(record)
    .filter(([name]) => !known.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const parts = [
    String(record.kind ?? 'node'),
    levelNames[Number(record.level)] ?? '',
    String(record.msg ?? ''),
    ...fields,
  ]
  return `${formatTime(Number(record.time))}  ${escapeLine(parts.filter(Boolean).join('  '))}`
}
