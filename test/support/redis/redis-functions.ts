import type { Redis } from '../../../src/store/redis/redis.ts'

/** Redis 6.2 has no functions: scripts are asked for by their digest there. */
export async function hasFunctions(redis: Redis): Promise<boolean> {
  const [found] = (await redis.call('COMMAND', 'INFO', 'FCALL')) as unknown[]
  return Array.isArray(found)
}
