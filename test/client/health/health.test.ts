/** The facts for doctor, put together from what each partition says: by stores that are given by hand. */
import { describe, expect, test } from 'vitest'
import { type Queues, readHealth } from '../../../src/client/health/health.ts'
import type { KindSummary, NodeSummary } from '../../../src/client/summaries.ts'
import type { InspectStore } from '../../../src/store/audit/inspect-store.ts'
import { healthySystem } from '../../support/healthy-system.ts'

interface Partition {
  readonly now?: number
  /** Facts by pool; nothing is known of other pools. */
  readonly pools?: Readonly<Record<string, { queued?: number; since?: number; wakeups?: number; busy?: number }>>
  readonly queued?: readonly { readonly id: string; readonly kind: string; readonly since: number }[]
  /** Workers that wait among the unhosted. */
  readonly aside?: Partition['queued']
  readonly running?: number
}

function storeOf({ now = Date.now(), pools = {}, queued = [], aside = [], running = 0 }: Partition): InspectStore {
  const factsOf = (pool: string) => {
    const { queued = 0, since, wakeups = 0, busy = 0 } = pools[pool] ?? {}
    return { pool, queued, oldest: since === undefined ? null : { id: 'w', since }, wakeups, busy }
  }
  const sums = { expiredLeases: 1, running, timers: 2, cancelling: 3, dead: 4, settled: 1 }
  return {
    now: async () => now,
    setBack: async () => null,
    nodesBySight: async () => ({ live: [{ id: 'n' }] }),
    serverFacts: async () => healthySystem.redis,
    expiredWorkers: async () => [{ id: 'w', kind: 'loop', lastWords: null }],
    pauseNote: async () => null,
    busyGates: () => Promise.resolve([]),
    queueFacts: async (names: readonly string[]) => ({ pools: names.map(factsOf), ...sums }),
    poolsEverKnown: () => Promise.resolve([]),
    queuedKinds: async (pool: string) => (pool === 'default' ? queued : pool === 'unhosted' ? aside : []),
  } as unknown as InspectStore
}

const kind = (name: string, pool: string, hosted: boolean): KindSummary => ({
  kind: name,
  pool,
  description: '',
  nodes: hosted ? 1 : 0,
  hosted,
})
const node: NodeSummary = { id: 'n', lastSeenMs: 0, slots: 1, pools: ['gpu'], kinds: [], pid: null, host: null }

const queues = async (): Promise<Queues> => ({
  submissions: [
    { prefix: 'first', jobs: 5, isPaused: false },
    { prefix: 'second', jobs: 0, isPaused: false },
    { prefix: 'third', jobs: 2, isPaused: true },
  ],
  pausedWakeups: [],
  pausedDeliveries: null,
})

describe('readHealth', () => {
  test('health adds up what all partitions say of a pool, and tells how long the oldest worker waits', async () => {
    const now = 1_000_000
    const partitions = [
      { now, pools: { default: { queued: 2, since: now - 300, wakeups: 4, busy: 1 } }, running: 3 },
      { now, pools: { default: { queued: 3, since: now - 900, wakeups: 8, busy: 2 } }, running: 4 },
    ]
    const health = await readHealth(partitions.map(storeOf), [], [kind('echo', 'default', true)], queues)
    expect(health.pools).toEqual([
      { pool: 'default', queued: 5, oldestMs: 900, wakeups: 12, busy: 3 },
      { pool: 'unhosted', queued: 0, oldestMs: null, wakeups: 0, busy: 0 },
    ])
    expect(health).toMatchObject({
      running: 7,
      expiredLeases: 2,
      expiredWorkers: [
        { id: 'w', kind: 'loop' },
        { id: 'w', kind: 'loop' },
      ],
      timers: 4,
      cancelling: 6,
      deadLetters: 8,
      settled: 2,
    })
  })

  test('health asks about the pools of nodes too, and about each once', async () => {
    const kinds = [kind('echo', 'default', true), kind('draw', 'gpu', true)]
    expect((await readHealth([storeOf({})], [node, node], kinds, queues)).pools.map(({ pool }) => pool)).toEqual([
      'default',
      'gpu',
      'unhosted',
    ])
    expect((await readHealth([storeOf({})], [node], [], queues)).pools.map(({ pool }) => pool)).toContain('gpu')
  })

  test('health names workers that wait for a node in any partition, even of a kind that was hosted once', async () => {
    const now = 1_000_000
    const first = storeOf({ now, queued: [{ id: 'w1', kind: 'echo', since: now - 10 }] })
    const second = storeOf({ now, queued: [{ id: 'w2', kind: 'gone', since: now - 700 }] })
    const kinds = [kind('echo', 'default', true), kind('gone', 'default', false)]
    const { unhosted } = await readHealth([first, second], [node], kinds, queues)
    expect(unhosted).toEqual([{ id: 'w2', kind: 'gone', waitingMs: 700 }])
  })

  test('health names workers among the unhosted even if a node hosts their kind', async () => {
    const now = 1_000_000
    const aside = [
      { id: 'w1', kind: 'echo', since: now - 300 },
      { id: 'w2', kind: 'gone', since: now - 700 },
    ]
    const health = await readHealth([storeOf({ now, aside })], [node], [kind('echo', 'default', true)], queues)
    expect(health.aside).toEqual([{ id: 'w1', kind: 'echo', waitingMs: 300 }])
    expect(health.unhosted).toEqual([{ id: 'w2', kind: 'gone', waitingMs: 700 }])
  })

  test('health counts no worker of another queue as set aside, and none that came during the read as queued in the future', async () => {
    const now = 1_000_000
    const queued = [
      { id: 'w1', kind: 'echo', since: now + 5 },
      { id: 'w2', kind: 'gone', since: now + 5 },
    ]
    const store = storeOf({ now, pools: { default: { queued: 2, since: now + 5 } }, queued })
    const health = await readHealth([store], [node], [kind('echo', 'default', true)], queues)
    expect(health.aside).toEqual([])
    expect(health.unhosted).toEqual([{ id: 'w2', kind: 'gone', waitingMs: 0 }])
    expect(health.pools[0]).toMatchObject({ pool: 'default', oldestMs: 0 })
  })

  test('health names nodes that do not work in the newest partition', async () => {
    const late = { ...node, id: 'late' }
    const both = await readHealth([storeOf({}), storeOf({})], [late, node], [], queues)
    expect(both.nodesBehind).toEqual([late])
    expect((await readHealth([storeOf({})], [late], [], queues)).nodesBehind).toEqual([])
  })

  test('health counts jobs of the first partition, and names queues of other partitions whose jobs nobody takes', async () => {
    expect(await readHealth([storeOf({}), storeOf({}), storeOf({})], [], [], queues)).toMatchObject({
      submitted: 5,
      submitIsPaused: false,
      submitPrefix: 'first',
      misplaced: [{ prefix: 'third', jobs: 2 }],
    })
  })
})
