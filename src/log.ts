/** Duty: logs by pino as the one-method-per-level interface the layers below know. Data goes to stdout, logs go to stderr. */
import { type DestinationStream, type Logger, pino } from 'pino'
import type { WorkerLog } from './core/worker-log.ts'

export type { Logger }

/** JSON lines on stderr. */
export function stderrLogger(level: string): Logger {
  return pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }) as DestinationStream)
}

export function silentLogger(): Logger {
  return pino({ level: 'silent' })
}

export function toWorkerLog(logger: Logger): WorkerLog {
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
  }
}
