/** One throw-away Redis for the whole test run; tests get its URL with `inject('redisUrl')`. */
import type { TestProject } from 'vitest/node'
import { startTestRedis } from './redis.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    redisUrl: string
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await startTestRedis((line) => process.stderr.write(`${line}\n`))
  process.stderr.write(`Tests use ${redis.description}.\n`)
  project.provide('redisUrl', redis.url)
  return () => redis.stop()
}
