import { describe, expect, it } from 'vitest'
import { formatBytes, judge } from '../../../src/cli/view/findings.ts'
import type { Health } from '../../../src/client/health/health.ts'

const node = { id: 'n', lastSeenMs: 100, slots: 50, pools: ['default'], kinds: ['echo'], pid: 7, host: 'here' }
const well: Health = {
  redis: {
    version: '8.2.2',
    evictionPolicy: 'noeviction',
    usedBytes: 1_048_576,
    maxBytes: 0,
    appendOnly: true,
    clockSkewMs: 3,
    role: 'master',
    refusal: null,
    info: { aof_last_write_status: 'ok', aof_last_bgrewrite_status: 'ok', rdb_last_bgsave_status: 'ok' },
  },
  nodes: [node],
  kinds: [],
  pools: [],
  unhosted: [],
  aside: [],
  stranded: [],
  submitted: 0,
  submitIsPaused: false,
  submitPrefix: '{troupe.0}:q',
  misplaced: [],
  pausedBells: [],
  running: 0,
  expiredLeases: 0,
  timers: 0,
  cancelling: 0,
  deadLetters: 0,
  settled: 0,
}

const withRedis = (redis: Partial<Health['redis']>): Health => ({ ...well, redis: { ...well.redis, ...redis } })
const pool = { pool: 'default', queued: 3, oldestMs: 1_000, bells: 0, busy: 0 }

const full = { why: 'OOM command not allowed', todo: 'It is full.' }

/** What is not as it should be. */
const wrong = (health: Health) => judge(health).filter(({ level }) => level !== 'ok')

describe('judge', () => {
  it('finds nothing wrong where nothing is', () => {
    expect(wrong(well)).toEqual([])
    const health = { ...well, pools: [{ ...pool, queued: 0, oldestMs: null }] }
    expect(judge(health).map(({ what }) => what)).toEqual([
      'Redis 8.2.2 answers',
      'it evicts no keys (maxmemory-policy noeviction)',
      expect.stringMatching(/^it writes an append-only file: /),
      'it uses 1.0 MiB of memory, and has no limit of its own',
      'its clock agrees with the one here',
      '1 node with 50 slots live: here (7); 0 turns running',
      'nothing waits for a slot',
      'there are no dead letters',
    ])
  })

  it('names nodes that do not tell where they run, and says nothing of a queue where none is live', () => {
    const told = (nodes: Health['nodes']) => judge({ ...well, nodes, pools: [pool] }).map(({ what }) => what)
    const nameless = { ...node, host: null, pid: null }
    expect(told([node, nameless])).toContain('2 nodes with 100 slots live: here (7), somewhere; 0 turns running')
    expect(told([])).not.toContainEqual(expect.stringContaining('for a slot'))
  })

  it('takes what nodes cannot tell of themselves for what it is, where Redis refuses what is written', () => {
    const health = { ...withRedis({ refusal: full, role: 'slave' }), nodes: [], pools: [pool], expiredLeases: 3 }
    expect(wrong(health)).toEqual([
      { level: 'problem', what: 'it refuses what is written (OOM command not allowed)', todo: 'It is full.' },
      { level: 'warning', what: expect.stringMatching(/^no node can tell that it is live/), todo: expect.anything() },
    ])
    expect(wrong({ ...health, nodes: [node] })).toHaveLength(1)
  })

  it.each<[string, Health, 'warning' | 'problem', RegExp]>([
    ['an old version', withRedis({ version: '8.2.1' }), 'warning', /CVE-2025-49844/],
    [
      'a worker that nothing wakes',
      { ...well, stranded: [{ id: 'w-1', what: 'is queued and stands in no line' }] },
      'problem',
      /^worker w-1 is queued and stands in no line, since another program removed what would wake it$/,
    ],
    [
      'workers that nothing wakes',
      { ...well, stranded: ['w-1', 'w-2'].map((id) => ({ id, what: 'is running and holds no lease' })) },
      'problem',
      /^worker w-1 is running and holds no lease, .* what would wake it, and so on: 2 of the newest$/,
    ],
    ['submitted jobs without a node', { ...well, nodes: [], submitted: 2 }, 'problem', /and 2 submitted jobs wait$/],
    [
      'submitted jobs that are held back',
      { ...well, submitted: 2, submitIsPaused: true },
      'problem',
      /^the queue submit is paused in BullMQ, and 2 submitted jobs wait$/,
    ],
    [
      'a queue that holds jobs back',
      { ...well, submitIsPaused: true },
      'warning',
      /^the queue submit is paused in BullMQ: jobs that are added to it wait$/,
    ],
    [
      'submitted jobs where no node looks',
      { ...well, misplaced: [{ prefix: '{troupe.3}:q', jobs: 2 }] },
      'problem',
      /^2 submitted jobs wait in the queue submit of the prefix {troupe\.3}:q, from which no node takes any$/,
    ],
    [
      'bells that are held back',
      { ...well, pausedBells: [1, 3].map((partition) => ({ pool: 'gpu', prefix: `{troupe.${partition}}:q` })) },
      'warning',
      /^the queue wakeups-gpu \(prefix {troupe\.1}:q, {troupe\.3}:q\) is paused in BullMQ: work may begin a second late$/,
    ],
    [
      'work and a submitted job without a node',
      { ...well, nodes: [], pools: [pool], submitted: 1 },
      'problem',
      /no node is live, and \d+ workers? and 1 submitted job wait$/,
    ],
    ['a replica', withRedis({ role: 'slave' }), 'problem', /replica/],
    ['a replica that calls itself so', withRedis({ role: 'replica' }), 'problem', /replica/],
    ['replicas that are waited for', withRedis({ info: { min_slaves_good_slaves: '0' } }), 'problem', /and none is$/],
    ['eviction', withRedis({ evictionPolicy: 'allkeys-lru' }), 'problem', /allkeys-lru/],
    ['no append-only file', withRedis({ appendOnly: false }), 'problem', /last snapshot/],
    [
      'a full disk',
      withRedis({ info: { aof_last_write_status: 'err' } }),
      'problem',
      /could not write the append-only file/,
    ],
    [
      'a snapshot that failed',
      withRedis({ info: { rdb_last_bgsave_status: 'err' } }),
      'problem',
      /could not write the last snapshot/,
    ],
    ['memory that gets scarce', withRedis({ usedBytes: 85, maxBytes: 100 }), 'warning', /85 %/],
    ['memory that is nearly gone', withRedis({ usedBytes: 96, maxBytes: 100 }), 'problem', /96 %/],
    ['another clock', withRedis({ clockSkewMs: -90_000 }), 'warning', /1m 30s behind/],
    ['a clock that is ahead', withRedis({ clockSkewMs: 90_000 }), 'warning', /1m 30s ahead of/],
    ['no node', { ...well, nodes: [] }, 'warning', /no node is live/],
    ['no node and work', { ...well, nodes: [], pools: [pool] }, 'problem', /3 workers wait/],
    [
      'a kind nobody hosts',
      { ...well, unhosted: [{ id: 'w', kind: 'x', waitingMs: 65_000 }] },
      'problem',
      /kind x: 1 worker waits, the oldest for 1m 5s/,
    ],
    [
      'a long queue',
      { ...well, pools: [{ ...pool, oldestMs: 120_000 }] },
      'warning',
      /3 workers wait for a slot, the oldest for 2m/,
    ],
    ['expired leases', { ...well, expiredLeases: 2 }, 'warning', /2 leases/],
    ['dead letters', { ...well, deadLetters: 1 }, 'warning', /^1 message put aside for taking a node down$/],
    [
      'workers that no node can run',
      { ...well, aside: [{ id: 'w1', kind: 'x', waitingMs: 20_000 }] },
      'problem',
      /^1 worker waits, though a node hosts its kind: something of it cannot be read$/,
    ],
    [
      'dead letters that are left',
      { ...well, deadLetters: 3, settled: 1 },
      'warning',
      /^2 messages put aside for taking a node down$/,
    ],
  ])('says what to do about %s', (_, health, level, what) => {
    expect(wrong(health)).toMatchObject([{ level, what: expect.stringMatching(what), todo: expect.any(String) }])
  })

  it('names a worker that no node can run, unless a sweep may take it', () => {
    const aside = [20_000, 200, 30_000].map((waitingMs, index) => ({ id: `w${index}`, kind: 'x', waitingMs }))
    const [told, ...more] = wrong({ ...well, aside })
    expect(more).toEqual([])
    expect(told).toMatchObject({
      what: '2 workers wait, though a node hosts their kinds: something of each cannot be read',
      todo: expect.stringContaining('w2'),
    })
    expect(wrong({ ...well, aside: aside.slice(1, 2) })).toEqual([])
    expect(wrong({ ...well, aside, nodes: [] }).map(({ what }) => what)).toEqual(['no node is live'])
  })

  it('finds nothing wrong with memory that is far from its limit', () => {
    const memory = judge(withRedis({ usedBytes: 79, maxBytes: 100 })).find(({ what }) => what.includes('of memory'))
    expect(memory).toMatchObject({ level: 'ok', what: 'it uses 79 B of 100 B of memory (79 %)' })
  })

  it('warns of no dead letter that was dealt with', () => {
    const told = judge({ ...well, deadLetters: 2, settled: 2 }).at(-1)
    expect(told).toEqual({ level: 'ok', what: 'all dead letters were put back or dismissed' })
  })

  it('knows Valkey by its own version', () => {
    const valkey = withRedis({ version: '7.2.4', info: { valkey_version: '8.1.4' } })
    expect(judge(valkey)[0]).toEqual({ level: 'ok', what: 'Valkey 8.1.4 answers' })
  })

  it('does not take a long queue for want of nodes alone: turns that hang hold slots as well', () => {
    const [told] = wrong({ ...well, pools: [{ ...pool, oldestMs: 120_000 }] })
    expect(told?.todo).toMatch(/^look whether turns hang .* start another node/)
  })

  it('takes all pools of its nodes for one queue, as old as its oldest', () => {
    const gpu = { ...pool, pool: 'gpu', queued: 2, oldestMs: 120_000 }
    const [told] = wrong({ ...well, pools: [pool, gpu, { ...pool, pool: 'new', queued: 1, oldestMs: null }] })
    expect(told?.what).toBe('6 workers wait for a slot, the oldest for 2m')
  })

  it('says of leases that ended who goes on with them, where nobody is there to do so', () => {
    const [, told] = wrong({ ...well, nodes: [], expiredLeases: 2 })
    expect(told).toMatchObject({ level: 'problem', todo: 'start a node: it goes on with their workers' })
  })

  it('does not call a short queue a fault', () => {
    expect(wrong({ ...well, pools: [pool] })).toEqual([])
  })

  it('tells of workers of kinds that nobody hosts as such, and not as a queue, nor where no node is live at all', () => {
    const unhosted = [{ id: 'w', kind: 'x', waitingMs: 120_000 }]
    const pools = [{ ...pool, pool: 'unhosted', queued: 1, oldestMs: 120_000 }]
    expect(wrong({ ...well, pools, unhosted }).map(({ what }) => what)).toEqual([
      'no live node hosts the kind x: 1 worker waits, the oldest for 2m',
    ])
    expect(wrong({ ...well, nodes: [], pools, unhosted }).map(({ what }) => what)).toEqual([
      'no node is live, and 1 worker waits',
    ])
  })

  it.each(['unhosted', 'gpu'])(
    'says how many of a long line (%s) of unhosted workers it looked at, and which is the oldest',
    (name) => {
      const unhosted = [5_000, 90_000, 7_000].map((waitingMs, index) => ({ id: `w${index}`, kind: 'x', waitingMs }))
      const told = (queued: number) =>
        judge({ ...well, pools: [pool, { ...pool, pool: name, queued, oldestMs: 9_000 }], unhosted }).filter(
          ({ what }) => /hosts/.test(what),
        )
      const finding = (many: string) => ({
        level: 'problem',
        what: `no live node hosts the kind x: ${many} workers wait, the oldest for 1m 30s`,
        todo: 'start a node whose workers folder has x.ts, or cancel their sessions: troupe worker show w1 tells that of the oldest',
      })
      expect([told(5_000), told(3)]).toEqual([[finding('at least 3')], [finding('3')]])
    },
  )

  it('doubts the namespace where no node was ever live', () => {
    const todo = (health: Partial<Health>) => wrong({ ...well, nodes: [], ...health })[0]?.todo
    const kinds = [{ kind: 'echo', pool: 'default', description: '', nodes: 0, hosted: false }]
    expect(todo({ kinds })).toBe('start one: troupe node --workers ./workers')
    expect(todo({})).toMatch(/check --namespace or TROUPE_NAMESPACE$/)
    expect(todo({ submitted: 1 })).toMatch(/check --namespace or TROUPE_NAMESPACE$/)
  })

  it('compares versions by their numbers', () => {
    expect(wrong(withRedis({ version: '6.2.9' }))).toHaveLength(1)
    for (const version of ['6.2.20', '7.2.11', '7.2.12', '8.0.10', '7.0.15'])
      expect(wrong(withRedis({ version }))).toEqual([])
  })

  it('says nothing of the last write to an append-only file that there is not', () => {
    const info = { aof_last_write_status: 'err', aof_last_bgrewrite_status: 'err' }
    expect(wrong(withRedis({ appendOnly: false, info }))).toHaveLength(1)
    expect(wrong(withRedis({ info }))).toHaveLength(2)
  })
})

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_536, '1.5 KiB'],
    [2.3 * 1_048_576, '2.3 MiB'],
    [5 * 1_024 ** 4 * 1_000, '5000 TiB'],
  ])('%d is %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })
})
