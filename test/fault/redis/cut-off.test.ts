/** F14, F22: a node is cut off from Redis in mid-turn. Its turn ends or is abandoned; nothing is doubled, and the node comes back. */
import { describe, expect, inject, test } from 'vitest'
import { networkRow } from '../../faults/rows/redis/network.ts'
import { Harness } from '../../support/fault/harness.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { testRow } from '../../support/fault/row-tests.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

describe('a node that is cut off', () => {
  test.concurrent.each(['cut', 'blackhole', 'cutReplies'] as const)(
    'a node cut off by %s for longer than its lease gives up its turn; another node runs it once, and both go on',
    async (how) => {
      await using proxy = await TcpProxy.start(inject('redisUrl'))
      await using harness = await Harness.open()
      await harness.start('cut', { redisUrl: proxy.url })
      const session = await harness.client.sessions.create({ kind: 'slow', input: { ms: 5_000 } })
      await waitUntil('its handler runs', () => harness.ledger.lines('begun').length === 1)
      proxy[how]()
      await waitUntil('it no longer trusts its lease', () => harness.ledger.lines('aborted').length === 1)
      await harness.start('other')
      expect(await awaitResult(session)).toMatchObject({
        status: 'completed',
        run: 1,
      })
      proxy.mend()
      expect(harness.ledger.lines('done').map((line) => line.node)).toEqual(['other'])
      const seen = new Set<string>()
      await waitUntil('both nodes work again', async () => {
        const next = await harness.client.sessions.create({ kind: 'slow', input: { ms: 150 } })
        const more = await harness.client.sessions.create({ kind: 'slow', input: { ms: 150 } })
        await Promise.all([next.result(), more.result()])
        for (const line of harness.ledger.lines('done').slice(1)) seen.add(line.node)
        return seen.size === 2
      })
      await expectInvariants(harness.redis, harness.namespace)
    },
  )
})

testRow(networkRow)
