/** A fork of a whole live session: a copy under new ids, as the session was at one moment, and both go on. */
import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { chatter, countOf, letters, members, settled } from '../../support/fault/letters.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

describe('session.fork', () => {
  test('a live tree of 50 workers, forked in parts at several moments: each letter arrives once in each copy, and both finish', async () => {
    await using troupe = await TestTroupe.start({ workers: chatter, client: { policy: { forkPartWorkers: 8 } } })
    const session = await troupe.create('root', { letters }, { keepOpen: true })
    const copies: Session[] = []
    for (const share of [0, 0.1, 0.3, 0.6]) {
      await waitUntil('some letters have arrived', async () => (await countOf(session)) >= letters * share)
      copies.push(await session.fork())
    }
    for (const one of [session, ...copies]) {
      await settled(one)
      expect(await one.result()).toMatchObject({ status: 'completed', run: letters + 1, value: letters })
      const { workers } = await one.report()
      expect(workers).toHaveLength(members + 1)
    }
    expect((await troupe.client.audit()).findings).toEqual([])
  })
})
