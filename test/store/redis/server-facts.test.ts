/** What a server says of itself, read from answers that are given by hand. */
import { expect, test, vi } from 'vitest'
import type { Redis } from '../../../src/store/redis/redis.ts'
import { readServerFacts } from '../../../src/store/redis/server-facts.ts'

function serverOf({ now = Date.now(), lines = [] as readonly string[] }): Redis {
  return {
    options: {},
    time: async () => [Math.floor(now / 1_000), (now % 1_000) * 1_000],
    info: async () => ['# Server', ...lines, ''].join('\r\n'),
  } as unknown as Redis
}

test.each([
  ['ahead', 60_000],
  ['behind', -60_000],
])('the clock of a server is %s', async (_, skewMs) => {
  vi.spyOn(Date, 'now').mockReturnValue(5_000_000)
  expect((await readServerFacts(serverOf({ now: 5_000_000 + skewMs }), null)).clockSkewMs).toBe(skewMs)
})

test('a server tells its version, its memory and what it keeps', async () => {
  const told = ['redis_version:7.2.4', 'maxmemory_policy:noeviction', 'used_memory:10', 'maxmemory:20']
  expect(await readServerFacts(serverOf({ lines: [...told, 'aof_enabled:1', 'role:master'] }), null)).toMatchObject({
    version: '7.2.4',
    evictionPolicy: 'noeviction',
    usedBytes: 10,
    maxBytes: 20,
    appendOnly: true,
    role: 'master',
  })
  const silent = { version: 'unknown', appendOnly: false, maxBytes: 0 }
  expect(await readServerFacts(serverOf({ lines: ['aof_enabled:0'] }), null)).toMatchObject(silent)
})
