/** Duty: the log that code of workers and tools is given. */
/** Logs with the ids of session, worker and run attached. Not part of what is committed. */
export interface WorkerLog {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}
