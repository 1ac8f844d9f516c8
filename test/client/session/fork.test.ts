/** A fork of a whole live session: a copy under new ids, as the session was at one moment, and both go on. */
import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Letter {
  readonly hops: number
  readonly others: readonly string[]
  readonly root: string
}

const members = 49
const hops = 6

/**
 * A root with members that pass letters on, each to another one and after its hops to the root, which counts them. All of them know each other by
 * ids in the values that they send.
 */
const chatter = {
  root: defineWorker({
    receive: ({ value }, self) => {
      const state = (self.state ?? { count: 0 }) as { count: number }
      const { letters } = value as { letters?: number }
      if (letters === undefined) {
        self.setState({ count: state.count + 1 })
        return self.reply(state.count + 1)
      }
      const ids: string[] = []
      for (let member = 0; member < members; member++)
        ids.push(self.spawn('member', { hops: 0, others: [], root: '' }, { detached: true }).id)
      for (let letter = 0; letter < letters; letter++)
        self.send(ids[letter % members] as string, { hops, others: ids, root: self.id })
      self.setState({ count: 0 })
      return self.reply(0)
    },
  }),
  member: defineWorker({
    receive: ({ value }, self) => {
      const { hops: left, others, root } = value as Letter
      if (others.length > 0) {
        const seen = (self.state ?? 0) as number
        self.setState(seen + 1)
        const next = (others.indexOf(self.id) + 7 * left + seen + others.length) % others.length
        if (left === 0) self.send(root, { arrived: true })
        else self.send(others[next] as string, { hops: left - 1, others, root })
      }
      return self.reply(null)
    },
  }),
}

const letters = 60

/** How many letters have arrived: each is a run of its own, behind the first one. */
const countOf = async ({ root }: Session) => (await root.report()).runs - 1

async function settled(session: Session): Promise<void> {
  await waitUntil('all letters have arrived at the root', async () => (await countOf(session)) >= letters, 60_000)
  await session.idle()
}

describe('session.fork', () => {
  test('of a live tree of 50 workers at several moments: each letter arrives once in each, and both finish', async () => {
    await using troupe = await TestTroupe.start({ workers: chatter })
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
