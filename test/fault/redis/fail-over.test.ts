/** F20: Sentinel makes another server the primary while sessions run; what it had heard of ends. */
import { expect, test } from 'vitest'
import { failOverRow } from '../../faults/rows/redis/fail-over.ts'
import { Harness } from '../../support/fault/harness.ts'
import { testRow } from '../../support/fault/row-tests.ts'
import { SentinelGroup } from '../../support/redis/sentinel-group.ts'

testRow(failOverRow)

test.concurrent.each(['away', 'standing still'])(
  'a node and a client can be stopped while all of Redis is %s',
  async (how) => {
    await using group = await SentinelGroup.start()
    await using harness = await Harness.open({ redisUrl: group.url })
    const node = await harness.start('a')
    await (await harness.client.sessions.create({ kind: 'echo', input: 1 })).result()
    const [old] = group.servers
    await old?.kill()
    for (const sentinel of group.sentinels) await (how === 'away' ? sentinel.kill() : sentinel.freeze())
    const patience = new Promise((resolve) => setTimeout(() => resolve('still running'), 25_000).unref())
    expect(await Promise.race([node.stop(), patience])).toBe(0)
    expect(await Promise.race([harness.client.close(), patience])).toBeUndefined()
  },
)
