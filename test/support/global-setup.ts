/** One throw-away Redis for the whole test run; tests get its URL with `inject('redisUrl')`. */
import type { TestProject } from 'vitest/node'
import { openRedis } from '../../src/store/redis/redis.ts'
import { startTestRedis } from './redis.ts'
import { hasFunctions } from './redis-functions.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    redisUrl: string
    /** false: it is Redis 6.2. */
    hasFunctions: boolean
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await startTestRedis((line) => process.stderr.write(`${line}\n`))
  process.stderr.write(`Tests use ${redis.description}.\n`)
  project.provide('redisUrl', redis.url)
  const admin = openRedis(redis.url)
  project.provide('hasFunctions', await hasFunctions(admin))
  admin.disconnect()
  return () => redis.stop()
}
