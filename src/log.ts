/**
 * Duty: make pino, the console or another logger usable as the log that the layers below know. Data goes to stdout, logs go to stderr.
 * LOG-1 No line holds a secret that this process knows, or a field that is named like one.
 */
import { type DestinationStream, type Logger, pino } from 'pino'
import type { WorkerLog } from './core/definition/worker-log.ts'
import { redactFields, redactSentence } from './core/secret/redact.ts'

export type { Logger }

/** The loggers that a program may pass: one of pino, the console, or its own object. */
export interface LoggerLike {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Writes JSON lines to stderr. */
export function stderrLogger(level: string): Logger {
  return pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }) as DestinationStream)
}

export function silentLogger(): Logger {
  return pino({ level: 'silent' })
}

/**
 * Without a logger nothing is logged. If a logger throws, for example because its pipe is closed, its line is lost. It must break neither a
 * turn nor a sweep.
 */
export function toWorkerLog(logger: LoggerLike = silentLogger()): WorkerLog {
  const at = (level: keyof WorkerLog) => (message: string, fields?: Record<string, unknown>) => {
    try {
      if ((logger as Partial<Logger>).isLevelEnabled?.(level) === false) return
      logger[level](redactFields(fields ?? {}), redactSentence(message))
    } catch {}
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
