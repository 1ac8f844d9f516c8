/**
 * What the processes that tests start share, so that they start fast: modules of the sources that were put together once for the run
 * (built-programs.ts), and one folder where they keep what they compiled. The first process that loads a module compiles it for all. Their
 * temporary folders are in the folder of the run.
 */
import { flushCompileCache } from 'node:module'

/** For the environment of a process that gets nothing else of the caller's. */
export function sharedEnv(): Record<string, string> {
  const { NODE_COMPILE_CACHE, NODE_OPTIONS, TMPDIR } = process.env
  return {
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
    ...(NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS }),
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
  }
}

/** A process that is killed writes nothing down: a program that tests kill calls this when it is ready. */
export function keepCompiled(): void {
  flushCompileCache()
}
