/** Which Redis is refused at the start, by what it says of itself. No old server is at hand, so old ones are quoted. */
import { expect, inject, test } from 'vitest'
import { openRedis, unfit } from '../../src/store/redis.ts'

const says = (version: string, policy = 'noeviction') =>
  `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n# Memory\r\nmaxmemory_policy:${policy}\r\n`

test.each(['2.8.24', '5.0.7', '6.0.16', '6.1.242'])('Redis %s is refused, with what is needed', (version) => {
  expect(unfit(says(version))).toBe(
    `Redis ${version.split('.').slice(0, 2).join('.')} is too old: troupe needs 6.2 or newer.`,
  )
})

test.each(['6.2.0', '6.10.1', '7.0.15', '8.0.3', '10.0.0'])('Redis %s is taken', (version) => {
  expect(unfit(says(version))).toBeNull()
})

test('one that may evict is refused, with the command that mends it', () => {
  expect(unfit(says('7.0.15', 'allkeys-lru'))).toMatch(/allkeys-lru.*redis-cli config set maxmemory-policy noeviction/)
})

test('the Redis of these tests is taken by its own words', async () => {
  const redis = openRedis(inject('redisUrl'))
  expect(unfit(await redis.info())).toBeNull()
  redis.disconnect()
})
