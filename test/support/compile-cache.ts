/**
 * Where the processes that tests start keep what they compiled. They share one folder in a test run: the first process that loads a
 * module compiles it for all.
 */
import { flushCompileCache } from 'node:module'

/** For the environment of a process that gets nothing else of the caller's. */
export function compileCacheEnv(): Record<string, string> {
  const { NODE_COMPILE_CACHE: folder } = process.env
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder }
}

/** A process that is killed writes nothing down: a program that tests kill calls this when it is ready. */
export function keepCompiled(): void {
  flushCompileCache()
}
