/**
 * The throw-away Redis of a test run: in a container through Testcontainers where an engine answers, else a local server
 * (installed first where that is possible). TROUPE_TEST_REDIS_URL chooses one that runs already.
 */
import { RedisContainer } from '@testcontainers/redis'
import { findContainerEngine } from '../../../src/dev/container-engine.ts'
import { type DevRedis, findOrStartRedis } from '../../../src/dev/redis.ts'

export type TestRedis = Pick<DevRedis, 'url' | 'description' | 'stop'>

const image = 'redis:7-alpine'

export async function startTestRedis(log: (line: string) => void): Promise<TestRedis> {
  const path = process.env.PATH ?? ''
  const url = process.env.TROUPE_TEST_REDIS_URL
  if (!url && (await findContainerEngine(path))) {
    try {
      const container = await new RedisContainer(image).start()
      const stop = async () => void (await container.stop())
      return { url: container.getConnectionUrl(), description: `${image} in a container`, stop }
    } catch (error) {
      log(
        `No Redis in a container (${error instanceof Error ? error.message : String(error)}); looking for a local one.`,
      )
    }
  }
  return findOrStartRedis({ url, mode: 'test', path, log })
}
