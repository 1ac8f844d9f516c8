/** Duty: logs by pino as the one-method-per-level interface the layers below know. Data goes to stdout, logs go to stderr. */
import { type DestinationStream, type Logger, pino } from 'pino'
import type { WorkerLog } from './core/definition/worker-log.ts'

export type { Logger }

/** What a program may log with: a logger of pino, the console, or an object of its own. */
export interface LoggerLike {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** JSON lines on stderr. */
export function stderrLogger(level: string): Logger {
  return pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }) as DestinationStream)
}

export function silentLogger(): Logger {
  return pino({ level: 'silent' })
}

/**
 * Without a logger nothing is told. One that throws, since nobody reads its pipe any more, loses its line, and breaks no turn and no
 * sweep.
 */
export function toWorkerLog(logger: LoggerLike = silentLogger()): WorkerLog {
  const at = (level: keyof WorkerLog) => (message: string, fields?: Record<string, unknown>) => {
    try {
      logger[level](fields ?? {}, message)
    } catch {}
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
