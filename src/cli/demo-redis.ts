/** Duty: the Redis of a demo: the one that is configured, else one of this folder, else a throw-away one; gone afterwards. */
import type { Config } from '../config.ts'
import type { DevRedis } from '../dev/redis.ts'

const readOnly = new Set(['EACCES', 'EPERM', 'EROFS'])

export async function demoRedis(config: Config, tell: (line: string) => void, signal: AbortSignal): Promise<DevRedis> {
  const { findOrStartRedis } = await import('../dev/redis.ts')
  const wish = { url: config.redisUrl, path: config.path ?? '', log: tell, signal }
  const redis = await findOrStartRedis({ ...wish, mode: 'development' }).catch((thrown: unknown) => {
    // In a folder one may only look at, a Redis for once will do.
    if (readOnly.has(String((thrown as NodeJS.ErrnoException).code))) return findOrStartRedis({ ...wish, mode: 'test' })
    throw thrown
  })
  tell(`Using ${redis.description}.`)
  return redis
}
