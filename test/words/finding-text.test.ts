import { describe, expect, it } from 'vitest'
import { judge as judgeHealth } from '../../src/client/health/findings.ts'
import type { Health } from '../../src/client/health/health.ts'
import { findingText, formatBytes } from '../../src/words/finding-text.ts'
import { liveNode as node, healthySystem as well } from '../support/healthy-system.ts'

const withRedis = (redis: Partial<Health['redis']>): Health => ({ ...well, redis: { ...well.redis, ...redis } })
const pool = { pool: 'default', queued: 3, oldestMs: 1_000, wakeups: 0, busy: 0 }

const full = { why: 'OOM command not allowed', todo: 'It is full.' }

/** Each finding as doctor shows it. */
const judge = (health: Health) =>
  judgeHealth(health).map((finding) => ({ level: finding.level, ...findingText(finding) }))

/** The findings that are not ok. */
const wrong = (health: Health) => judge(health).filter(({ level }) => level !== 'ok')

describe('judge', () => {
  it('reports only ok findings for a healthy system', () => {
    expect(wrong(well)).toEqual([])
    const health = { ...well, pools: [{ ...pool, queued: 0, oldestMs: null }] }
    expect(judge(health).map(({ what }) => what)).toEqual([
      'Redis 8.6.3 answers',
      'Redis never evicts keys (maxmemory-policy noeviction)',
      expect.stringMatching(/^Redis writes an append-only file: /),
      'Redis uses 1.0 MiB of memory, and has no memory limit',
      'the clock of Redis agrees with the clock of this machine',
      '1 node with 50 slots live: here (7); 0 turns running',
      'no worker waits for a slot',
      'there are no dead letters',
    ])
  })

  it('lists nodes without a known host, and omits the run queue while no node is live', () => {
    const found = (nodes: Health['nodes']) => judge({ ...well, nodes, pools: [pool] }).map(({ what }) => what)
    const nameless = { ...node, host: null, pid: null }
    expect(found([node, nameless])).toContain('2 nodes with 100 slots live: here (7), unknown host; 0 turns running')
    expect(found([])).not.toContainEqual(expect.stringContaining('for a slot'))
  })

  it('says which of the nodes drain, and counts no slots of theirs', () => {
    const draining = { ...node, host: 'there', draining: 2 }
    const whats = (nodes: Health['nodes'], more: Partial<Health> = {}) =>
      judge({ ...well, nodes, ...more }).map(({ what }) => what)
    expect(whats([node, draining, node])).toContain(
      '2 nodes with 100 slots live: here (7), here (7); 0 turns running; 1 of 3 nodes is draining: there (7)',
    )
    const waiting = whats([draining, draining], { pools: [pool] })
    expect(waiting).toContain('no node takes up work: 2 nodes are draining (there (7), there (7)), and 3 workers wait')
    expect(waiting).not.toContainEqual(expect.stringContaining('for a slot'))
  })

  it('names partitions that are away', () => {
    const of = (away: readonly number[]) => wrong({ ...well, away }).map(({ level, what }) => `${level}: ${what}`)
    expect(of([3])).toEqual(['problem: partition 3 is away: what is found here lacks what is in it'])
    expect(of([1, 4])).toEqual(['problem: partitions 1, 4 are away: what is found here lacks what is in them'])
  })

  it('nodes are not blamed for what follows from a Redis that refuses writes', () => {
    const health = { ...withRedis({ refusal: full, role: 'slave' }), nodes: [], pools: [pool], expiredLeases: 3 }
    expect(wrong(health)).toEqual([
      { level: 'problem', what: 'Redis refuses writes (OOM command not allowed)', todo: 'It is full.' },
      { level: 'warning', what: expect.stringMatching(/^no node can report that it is live/), todo: expect.anything() },
    ])
    expect(wrong({ ...health, nodes: [node] })).toHaveLength(1)
  })

  it.each<[string, Health, 'warning' | 'problem', RegExp]>([
    ['an old version', withRedis({ version: '8.2.1' }), 'warning', /CVE-2025-49844/],
    ['a version with a known fault', withRedis({ version: '8.6.2' }), 'warning', /CVE-2026-23479/],
    [
      'a clock that was set back',
      withRedis({ clockSetBack: { ms: 3_600_000, agoMs: 60_000 } }),
      'warning',
      /^the clock of Redis was set back by 1h, 1m ago: timers and retries that were open moved by as much/,
    ],
    [
      'no password',
      withRedis({ access: { user: 'default', hasPassword: false, mayLoadFunctions: false } }),
      'warning',
      /without a password/,
    ],
    [
      'a user who may load functions',
      withRedis({ access: { user: 'wide', hasPassword: true, mayLoadFunctions: true } }),
      'warning',
      /wide may load functions/,
    ],
    [
      'a worker that nothing will wake',
      { ...well, stranded: [{ id: 'w-1', reason: 'not_in_run_queue' }] },
      'problem',
      /^worker w-1 is queued and stands in no run queue, because another program removed the entry that would wake it$/,
    ],
    [
      'several workers that nothing will wake',
      { ...well, stranded: ['w-1', 'w-2'].map((id) => ({ id, reason: 'no_lease' as const })) },
      'problem',
      /^worker w-1 is running and holds no lease, because .* would wake it; 2 of the newest workers are in such a state$/,
    ],
    [
      'a wrong entry in the list of a session',
      { ...well, wrongEntries: [{ sessionId: 's-1', entry: 'a\nb' }] },
      'problem',
      /^the list of session s-1 holds "a\\nb", which is no worker of it: another program wrote it$/,
    ],
    [
      'wrong entries in the index of sessions',
      { ...well, wrongEntries: ['', 'x'].map((entry) => ({ sessionId: null, entry })) },
      'problem',
      /^the index of sessions holds "", which is no session of it: another program wrote it; 2 such entries were found$/,
    ],
    ['submitted jobs without a node', { ...well, nodes: [], submitted: 2 }, 'problem', /and 2 submitted jobs wait$/],
    [
      'submitted jobs in a paused queue',
      { ...well, submitted: 2, submitIsPaused: true },
      'problem',
      /^the queue submit \(prefix {troupe\.0}:q\) is paused in BullMQ, and 2 submitted jobs wait$/,
    ],
    [
      'a paused queue without jobs',
      { ...well, submitIsPaused: true },
      'warning',
      /^the queue submit \(prefix {troupe\.0}:q\) is paused in BullMQ: new jobs will wait$/,
    ],
    [
      'submitted jobs in a queue that no node reads',
      { ...well, misplaced: [{ prefix: '{troupe.3}:q', jobs: 2 }] },
      'problem',
      /^2 submitted jobs wait in the queue submit with the prefix {troupe\.3}:q, which no node reads$/,
    ],
    [
      'requests to webhooks in a paused queue',
      { ...well, pausedDeliveries: 2 },
      'problem',
      /^the queue deliveries \(prefix {troupe\.0}:q\) is paused in BullMQ, and 2 requests wait to be sent to webhooks$/,
    ],
    [
      'a paused queue without requests to webhooks',
      { ...well, pausedDeliveries: 0 },
      'warning',
      /^the queue deliveries \(prefix {troupe\.0}:q\) is paused in BullMQ: new requests to webhooks will wait$/,
    ],
    [
      'paused queues of wake-ups',
      { ...well, pausedWakeups: [1, 3].map((partition) => ({ pool: 'gpu', prefix: `{troupe.${partition}}:q` })) },
      'warning',
      /^the queue wakeup-gpu \(prefix {troupe\.1}:q, {troupe\.3}:q\) is paused in BullMQ: work may begin a second late$/,
    ],
    [
      'work and a submitted job without a node',
      { ...well, nodes: [], pools: [pool], submitted: 1 },
      'problem',
      /no node is live, and \d+ workers? and 1 submitted job wait$/,
    ],
    ['a replica', withRedis({ role: 'slave' }), 'problem', /replica/],
    ['a replica with the newer name of its role', withRedis({ role: 'replica' }), 'problem', /replica/],
    [
      'a Redis that requires replicas and has none',
      withRedis({ info: { min_slaves_good_slaves: '0' } }),
      'problem',
      /no replica is connected$/,
    ],
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
    ['memory that is four fifths full', withRedis({ usedBytes: 85, maxBytes: 100 }), 'warning', /85 %/],
    ['memory that is nearly gone', withRedis({ usedBytes: 96, maxBytes: 100 }), 'problem', /96 %/],
    ['a clock that is behind', withRedis({ clockSkewMs: -90_000 }), 'warning', /1m 30s behind/],
    ['a clock that is ahead', withRedis({ clockSkewMs: 90_000 }), 'warning', /1m 30s ahead of/],
    ['no node', { ...well, nodes: [] }, 'warning', /no node is live/],
    ['no node and work', { ...well, nodes: [], pools: [pool] }, 'problem', /3 workers wait/],
    [
      'a kind that no node hosts',
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
    [
      'expired leases of workers that are known',
      {
        ...well,
        expiredLeases: 1,
        expiredWorkers: [{ id: 'w-1', kind: 'loop', lastWords: 'it blocked, at loop.ts:4:3' }],
      },
      'warning',
      /: loop w-1 \(it blocked, at loop\.ts:4:3\)$/,
    ],
    [
      'workers that wait for somebody',
      {
        ...well,
        heldUp: ['one', 'two', 'three', 'four'].map((name) => {
          const holdup = { reason: 'question', workerId: name, waitsFor: 'a person', needsSomebody: true } as const
          return { id: name, name, kind: 'asker', holdup: { ...holdup, since: 0, until: null, command: 'troupe x' } }
        }),
      },
      'warning',
      /^4 workers wait for somebody: one \(asker\) waits for a person, for \S+.*; .*; three .*; and 1 more$/,
    ],
    [
      'a node that stands still',
      {
        ...well,
        stalledNodes: [{ ...(well.nodes[0] as (typeof well.nodes)[0]), host: 'h', pid: 7, lastSeenMs: 20_000 }],
      },
      'warning',
      /1 node stalled: h \(7\), not seen for 20(\.0)?s$/,
    ],
    [
      'an endpoint that does not accept what it is told',
      {
        ...well,
        failingWebhooks: [
          { id: 'w', url: 'https://example.com/secret', failing: { retrying: 1, reason: 'no answer' } },
        ] as unknown as Health['failingWebhooks'],
      },
      'warning',
      /^1 endpoint of webhooks does not accept what it is told: example\.com \(no answer\)$/,
    ],
    [
      'dead letters',
      { ...well, deadLetters: 1 },
      'warning',
      /^1 message was put aside as a dead letter, because it took its node down$/,
    ],
    [
      'workers that no node can run',
      { ...well, aside: [{ id: 'w1', kind: 'x', waitingMs: 20_000 }] },
      'problem',
      /^1 worker waits, although a node hosts its kind: part of the stored data of the worker cannot be read$/,
    ],
    [
      'dead letters beside a settled one',
      { ...well, deadLetters: 3, settled: 1 },
      'warning',
      /^2 messages were put aside as dead letters, because each took its node down$/,
    ],
  ])('says what to do about %s', (_, health, level, what) => {
    expect(wrong(health)).toMatchObject([{ level, what: expect.stringMatching(what), todo: expect.any(String) }])
  })

  it('names a worker that no node can run once a sweep had the time to take it', () => {
    const aside = [20_000, 200, 30_000].map((waitingMs, index) => ({ id: `w${index}`, kind: 'x', waitingMs }))
    const [found, ...more] = wrong({ ...well, aside })
    expect(more).toEqual([])
    expect(found).toMatchObject({
      what: '2 workers wait, although a node hosts their kinds: part of the stored data of each of them cannot be read',
      todo: expect.stringContaining('w2'),
    })
    expect(wrong({ ...well, aside: aside.slice(1, 2) })).toEqual([])
    expect(wrong({ ...well, aside, nodes: [] }).map(({ what }) => what)).toEqual(['no node is live'])
  })

  it('accepts memory use below four fifths of the limit', () => {
    const memory = judge(withRedis({ usedBytes: 79, maxBytes: 100 })).find(({ what }) => what.includes('of memory'))
    expect(memory).toMatchObject({ level: 'ok', what: 'Redis uses 79 B of 100 B of memory (79 %)' })
  })

  it('dead letters that were put back or dismissed bring no warning', () => {
    const found = judge({ ...well, deadLetters: 2, settled: 2 }).at(-1)
    expect(found).toEqual({ level: 'ok', what: 'all dead letters were put back or dismissed' })
  })

  it('judges Valkey by the version of Valkey', () => {
    const valkey = withRedis({ version: '7.2.4', info: { valkey_version: '8.1.4' } })
    expect(judge(valkey)[0]).toEqual({ level: 'ok', what: 'Valkey 8.1.4 answers' })
  })

  it('advises to check for hanging turns before more nodes are started', () => {
    const [found] = wrong({ ...well, pools: [{ ...pool, oldestMs: 120_000 }] })
    expect(found?.todo).toMatch(/^check whether turns hang .* start another node/)
  })

  it('sums up the run queues of all pools, and reports the oldest worker of all', () => {
    const gpu = { ...pool, pool: 'gpu', queued: 2, oldestMs: 120_000 }
    const [found] = wrong({ ...well, pools: [pool, gpu, { ...pool, pool: 'new', queued: 1, oldestMs: null }] })
    expect(found?.what).toBe('6 workers wait for a slot, the oldest for 2m')
  })

  it('asks for a node if leases expired and no node is live', () => {
    const [, found] = wrong({ ...well, nodes: [], expiredLeases: 2 })
    expect(found).toMatchObject({ level: 'problem', todo: 'start a node: it continues the work of their workers' })
  })

  it('accepts a short run queue', () => {
    expect(wrong({ ...well, pools: [pool] })).toEqual([])
  })

  it('reports workers of an unhosted kind once: not as a run queue, and not while no node is live', () => {
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
    'says of a long run queue (%s) that there are at least as many unhosted workers as it read, and names the oldest',
    (name) => {
      const unhosted = [5_000, 90_000, 7_000].map((waitingMs, index) => ({ id: `w${index}`, kind: 'x', waitingMs }))
      const found = (queued: number) =>
        judge({ ...well, pools: [pool, { ...pool, pool: name, queued, oldestMs: 9_000 }], unhosted }).filter(
          ({ what }) => /hosts/.test(what),
        )
      const finding = (many: string) => ({
        level: 'problem',
        what: `no live node hosts the kind x: ${many} workers wait, the oldest for 1m 30s`,
        todo: 'start a node whose workers folder has x.ts, or cancel their sessions; troupe worker show w1 shows the session of the oldest',
      })
      expect([found(5_000), found(3)]).toEqual([[finding('at least 3')], [finding('3')]])
    },
  )

  it('suggests to check the namespace if no node was ever live in it', () => {
    const todo = (health: Partial<Health>) => wrong({ ...well, nodes: [], ...health })[0]?.todo
    const kinds = [{ kind: 'echo', pool: 'default', description: '', nodes: 0, hosted: false }]
    expect(todo({ kinds })).toBe('start one: troupe node --workers ./workers')
    expect(todo({})).toMatch(/check --namespace or TROUPE_NAMESPACE$/)
    expect(todo({ submitted: 1 })).toMatch(/check --namespace or TROUPE_NAMESPACE$/)
  })

  it('compares the parts of a version as numbers', () => {
    expect(wrong(withRedis({ version: '6.2.9' }))).toHaveLength(1)
    for (const version of ['6.2.20', '7.0.15', '8.6.3', '8.6.10', '9.0.0'])
      expect(wrong(withRedis({ version }))).toEqual([])
  })

  it('ignores the state of the append-only file if there is none', () => {
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
