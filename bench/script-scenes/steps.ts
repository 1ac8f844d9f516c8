/** Duty: scenes of what one step may hold: children, messages, timers, asks and bytes; and of steps that several turns make at the same moment. */
import type { Troupe } from 'troupe'
import type { Order } from './kinds.ts'
import { type Scene, text, wait } from './measure.ts'

const limits = { workers: 100_000, children: 1_000, mailbox: 100_000 }

async function run(troupe: Troupe, input: Order): Promise<void> {
  const session = await troupe.sessions.create({ kind: 'parent', input, limits })
  await session.result()
}

/** Ids of the roots of so many sessions that rest. */
async function resting(troupe: Troupe, count: number, kind: string, input: unknown): Promise<string[]> {
  const made = await troupe.sessions.createMany(Array.from({ length: count }, () => ({ kind, input, keepOpen: true })))
  return made.flatMap((one) => (one.status === 'fulfilled' ? [one.value.rootId] : []))
}

export const stepScenes: Readonly<Record<string, Scene>> = {
  children: {
    figure: '500 children in one step, the most that it may hold, and pruning them',
    async act({ troupe }) {
      await run(troupe, { kind: 'echo', count: 500, bytes: 50 })
      await troupe.sessions.prune({ olderThanMs: 0 })
    },
  },
  named: {
    figure: '500 children in one step, each with a name, of two kinds by turns',
    act: ({ troupe }) => run(troupe, { kind: 'echo', count: 500, bytes: 50, named: true }),
  },
  inputs: {
    figure: '250 children with 3 700 bytes each, the most that a step may hold in both ways',
    act: ({ troupe }) => run(troupe, { kind: 'echo', count: 250, bytes: 3_650 }),
  },
  bytes: {
    figure: '2 children with 900 KB each, as many bytes as a step may hold',
    act: ({ troupe }) => run(troupe, { kind: 'echo', count: 2, bytes: 900_000 }),
  },
  copies: {
    figure: 'a child that receives a megabyte, keeps 80 KB, and replies with a megabyte',
    act: ({ troupe }) => run(troupe, { kind: 'copier', count: 1, bytes: 1_000_000 }),
  },
  sends: {
    figure: '300 messages to other sessions in one step, the most that it may hold',
    async act({ troupe }) {
      const ids = await resting(troupe, 300, 'sink', null)
      await wait(2_000)
      const session = await troupe.sessions.create({ kind: 'sender', input: { ids, value: 2 } })
      await session.result()
    },
  },
  steers: {
    figure: '300 messages in one step that steer runs of other sessions',
    async act({ troupe }) {
      const ids = await resting(troupe, 300, 'clock', 1)
      await wait(2_000)
      const session = await troupe.sessions.create({ kind: 'sender', input: { ids, value: 2, when: 'steer' } })
      await session.result()
    },
  },
  full: {
    figure: '300 messages in one step to a worker whose mailbox of 20 000 is full',
    async act({ troupe, redis }) {
      const options = { kind: 'nobody', keepOpen: true, limits: { mailbox: 20_000 } }
      const session = await troupe.sessions.create({ ...options, input: 1 })
      const [inbox = ''] = await redis.keys(`*:w:${session.rootId}:mail:inbox`)
      await redis.rpush(inbox, ...Array.from({ length: 20_000 }, () => text(50)))
      const ids = Array.from({ length: 300 }, () => session.rootId)
      const sending = await troupe.sessions.create({ kind: 'sender', input: { ids, value: 2 } })
      await sending.result().catch(() => {})
    },
  },
  batch: {
    figure: '32 steps at the same moment, each with 40 messages to other sessions',
    async act({ troupe }) {
      const ids = await resting(troupe, 40, 'sink', null)
      await wait(1_000)
      const input = { ids, value: 2 }
      await troupe.sessions.createMany(Array.from({ length: 32 }, () => ({ kind: 'sender', input })))
      await wait(2_000)
    },
  },
  asks: {
    figure: '750 asks in one step, and a cancel of them',
    async act({ troupe }) {
      const session = await troupe.sessions.create({ kind: 'asker', input: 740 })
      await wait(2_000)
      await session.cancel()
      await session.result()
    },
  },
  timers: {
    figure: '1 500 timers in one step, and a cancel of them',
    async act({ troupe }) {
      const session = await troupe.sessions.create({ kind: 'clock', input: 1_490 })
      await wait(2_000)
      await session.cancel()
      await session.result()
    },
  },
  ends: {
    figure: '16 runs that end at the same moment, each with as many open asks as a run may have',
    async act({ troupe }) {
      const made = await troupe.sessions.createMany(
        Array.from({ length: 16 }, () => ({ kind: 'asker', input: -1_490 })),
      )
      for (const one of made) if (one.status === 'fulfilled') await one.value.result()
    },
  },
  gather: {
    figure: '200 results of 100 KB that come in no order, gathered by one parent',
    act: ({ troupe }) => run(troupe, { kind: 'large', count: 200, bytes: 1 }),
  },
  results: {
    figure: '500 results of 1 900 bytes that one claim reads',
    act: ({ troupe }) => run(troupe, { kind: 'small', count: 500, bytes: 1 }),
  },
  crowd: {
    figure: '1 000 results of 1 900 bytes of children that run 50 at once, as many as a parent may await',
    async act({ troupe }) {
      const session = await troupe.sessions.create({ kind: 'crowd', input: 1_000, limits })
      await session.result()
    },
  },
  alarms: {
    figure: '20 timers of a megabyte each that are due at once',
    async act({ troupe }) {
      const made = await troupe.sessions.createMany(Array.from({ length: 10 }, () => ({ kind: 'alarm', input: 2 })))
      for (const one of made) if (one.status === 'fulfilled') await one.value.result()
    },
  },
  claims: {
    figure: '48 workers with inputs of a megabyte, claimed by 16 slots that end turns at the same moment',
    node: { concurrency: 16 },
    async act({ troupe }) {
      const made = await troupe.sessions.createMany(
        Array.from({ length: 48 }, () => ({ kind: 'sink', input: text(1_000_000) })),
      )
      for (const one of made) if (one.status === 'fulfilled') await one.value.result()
    },
  },
}
