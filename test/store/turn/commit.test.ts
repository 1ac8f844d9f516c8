/** commit: who may write, and what a step writes. Ends of runs, waits, children and messages have files of their own. */
import { describe, expect, test } from 'vitest'
import { HandTurn } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

const failure = { code: 'run_failed', message: 'x', origin: 'handler', at: 1, attempt: 1, retryable: false } as const

async function started(options: Parameters<Place['create']>[0] = {}) {
  const place = await Place.open()
  const session = await place.create(options)
  const node = place.node()
  const turn = await node.claim()
  return { place, session, node, turn, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

describe('a step in the middle of a turn', () => {
  test('a step in the middle of a turn appends its entries and takes its mail; the worker goes on running, and its lease is left to renew', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const changed = await place.changed(async () => {
      const answer = await turn.commit({
        entries: ['{"a":1}', '{"b":2}'],
        inputsConsumed: 1,
        event: '[["run.started"]]',
      })
      expect(answer).toMatchObject({ kind: 'ok', version: 1, wakeups: [], claimed: { kind: 'none' } })
    })
    expect(changed).toEqual({
      'w:<one.root>': {
        version: '1',
        open: '1',
        runState: 'ProcessingUserMessage',
        inbox: '1',
        starts: '0',
        committed: '1.n:1',
      },
      'w:<one.root>:log': ['{"a":1}', '{"b":2}'],
      'w:<one.root>:mail:inbox': null,
      events: [['run.started <one.root>']],
    })
  })

  test('a step in the middle of a turn may be empty: it counts as a commit (I4)', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const changed = await place.changed(() => turn.record({ open: false, runState: 'Idle' }))
    expect(changed).toEqual({ 'w:<one.root>': { version: '1', starts: '0', committed: '1.n:1' } })
  })

  test('a step in the middle of a turn numbers its entries without a gap (I4)', async () => {
    await using scene = await started()
    const { place, turn } = scene
    for (let step = 1; step <= 5; step++)
      await turn.record({ entries: Array.from({ length: step }, (_, index) => `{"step":${step},"index":${index}}`) })
    const log = await place.redis.lrange(place.workerKeys(turn.worker).log, 0, -1)
    expect(log).toHaveLength(15)
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { version: '5' } })
  })

  test('a step of thousands of entries is written whole', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const entries = Array.from({ length: 12_345 }, (_, index) => `${index}`)
    await turn.record({ entries })
    expect(await place.redis.lrange(place.workerKeys(turn.worker).log, 0, -1)).toEqual(entries)
  })
})

describe('state', () => {
  test('state of up to 64 bytes stays in the record, longer state has a key of its own', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const short = JSON.stringify('x'.repeat(62))
    const long = JSON.stringify('x'.repeat(63))
    expect(await place.changed(() => turn.record({ stateJson: short }))).toMatchObject({
      'w:<one.root>': { data: short },
    })
    const grown = await place.changed(() => turn.record({ stateJson: long }))
    expect(grown).toMatchObject({ 'w:<one.root>:state': long })
    const shrunk = await place.changed(() => turn.record({ stateJson: short }))
    expect(shrunk).toMatchObject({ 'w:<one.root>:state': null, 'w:<one.root>': { data: short } })
  })

  test('state is counted in bytes, not in letters', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const json = JSON.stringify('語'.repeat(21))
    const changed = await place.changed(() => turn.record({ stateJson: json }))
    expect(changed).toMatchObject({ 'w:<one.root>:state': json })
  })

  test.each(['"short"', JSON.stringify('long '.repeat(100)), '""', '"@"'])(
    'the state %j comes back with the next assignment',
    async (json) => {
      await using scene = await started({ mode: 'conversation' })
      const { place, node, turn } = scene
      await turn.complete({ stateJson: json })
      await place.post(turn.worker, 'next')
      expect((await node.claim()).assignment.stateJson).toBe(json)
    },
  )

  test('state is kept by a step that says nothing of it', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await turn.record({ stateJson: '{"n":1}' })
    const changed = await place.changed(() => turn.record({ entries: ['{}'] }))
    expect(changed['w:<one.root>']).not.toHaveProperty('data')
  })
})

describe('a failure', () => {
  test('a failure is set by the failing step (I11), kept by steps that do not mention it, and cleared by a step that does', async () => {
    await using scene = await started()
    const { place, turn } = scene
    expect(await place.changed(() => turn.record({ failure }))).toMatchObject({
      'w:<one.root>': { failed: '1' },
      'w:<one.root>:failure': JSON.stringify(failure),
    })
    expect(await place.changed(() => turn.record())).not.toHaveProperty('w:<one.root>:failure')
    expect(await place.changed(() => turn.record({ failure: null }))).toMatchObject({
      'w:<one.root>': { failed: '0' },
      'w:<one.root>:failure': null,
    })
    expect(await place.changed(() => turn.record({ failure: null }))).not.toHaveProperty('w:<one.root>.failed')
  })
})

describe('a dead letter', () => {
  test('a dead letter holds the consumed input with its evidence; the history has none of it (I1)', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const changed = await place.changed(() =>
      turn.record({
        entries: ['{"type":"failed"}'],
        inputsConsumed: 1,
        dead: '{"starts":5}',
        open: false,
        outcome: 'failed',
        failure,
        end: { wait: 'any', next: null },
      }),
    )
    expect(changed).toMatchObject({
      dead: [['session=<one> worker=<one.root> evidence={"starts":5} mail=i\t-\t"first"']],
      'w:<one.root>:log': ['{"type":"failed"}'],
      'w:<one.root>:mail:inbox': null,
    })
  })

  test('a dead letter without a consumed input holds only its evidence', async () => {
    await using scene = await started()
    const { place, turn } = scene
    expect(await place.changed(() => turn.record({ dead: '{}' }))).toMatchObject({
      dead: [['session=<one> worker=<one.root> evidence={}']],
    })
  })
})

describe('a commit is not accepted', () => {
  test('a commit that is sent twice is answered twice, and nothing more is written (K11)', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    const request = turn.request({ entries: ['{"a":1}'], inputsConsumed: 1, event: '[["run.started"]]' })
    const first = await node.turns.commit(request)
    const changed = await place.changed(async () => expect(await node.turns.commit(request)).toEqual(first))
    expect(changed).toEqual({})
  })

  test('a commit that is repeated long after its turn, when others have followed, is not accepted', async () => {
    await using scene = await started({ mode: 'conversation' })
    const { place, node, turn } = scene
    const early = turn.request({ entries: ['{"a":1}'] })
    await turn.record({ entries: ['{"a":1}'] })
    await turn.record({ entries: ['{"b":1}'] })
    const late = turn.request({ entries: ['{"c":1}'], inputsConsumed: 1, open: false, outcome: 'completed' })
    await turn.complete({ entries: ['{"c":1}'] })
    const ofEnded = await place.changed(async () => {
      expect(await node.turns.commit(early)).toMatchObject({ kind: 'ok' })
      expect(await node.turns.commit(late)).toMatchObject({ kind: 'ok' })
    })
    expect(ofEnded).toEqual({})
    await place.post(turn.worker, 'next')
    const next = await node.claim()
    await next.record({ entries: ['{"d":1}'] })
    const ofOthers = await place.changed(async () => {
      expect(await node.turns.commit(early)).toMatchObject({ kind: 'fenced' })
      expect(await node.turns.commit(late)).toMatchObject({ kind: 'fenced' })
    })
    expect(ofOthers).toEqual({})
  })

  test('a commit from a node whose lease was taken away is not accepted (K13)', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    await place.expireLease(turn.worker)
    await node.sweep({ free: 0 })
    const changed = await place.changed(async () =>
      expect(await turn.commit({ entries: ['{"late":1}'] })).toMatchObject({ kind: 'fenced' }),
    )
    expect(changed).toEqual({})
    const other = await place.node({ id: 'node-b' }).claim()
    await other.record({ entries: ['{"mine":1}'] })
    expect(await turn.commit({ entries: ['{"late":1}'] })).toMatchObject({ kind: 'fenced' })
    expect(await place.redis.lrange(place.workerKeys(turn.worker).log, 0, -1)).toEqual(['{"mine":1}'])
  })

  test('a commit with the same epoch and another nonce, as after a fail-over that lost the claim, is not accepted (K18)', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    const forged = new HandTurn(node, { ...turn.assignment, token: '1:other' })
    const changed = await place.changed(async () =>
      expect(await forged.commit({ entries: ['{}'] })).toMatchObject({ kind: 'fenced' }),
    )
    expect(changed).toEqual({})
  })

  test('a commit for a worker that is not there is not accepted', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await place.redis.del(place.workerKeys(turn.worker).record)
    const changed = await place.changed(async () =>
      expect(await turn.commit({ entries: ['{}'] })).toMatchObject({ kind: 'fenced' }),
    )
    expect(changed).toEqual({})
  })

  test('a commit on another version than the record has is a conflict that names that version (K17)', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await turn.record({ entries: ['{}'] })
    turn.version = 7
    const changed = await place.changed(async () =>
      expect(await turn.commit({ entries: ['{}'] })).toEqual({ kind: 'conflict', version: 1 }),
    )
    expect(changed).toEqual({})
  })

  test('a commit for a cancelled run is not accepted, but its cancelling end is (I12)', async () => {
    await using scene = await started()
    const { place, session, turn } = scene
    await place.sessions.cancel(session.id, 'enough')
    const spawns = [place.child(turn.worker, 1, 'child')]
    const changed = await place.changed(async () => {
      expect(await turn.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
      expect(await turn.commit({ spawns, pendingCalls: [1] })).toEqual({ kind: 'cancelled' })
      expect(await turn.commit({ outcome: 'completed', open: false })).toEqual({ kind: 'cancelled' })
    })
    expect(changed).toEqual({})
    const end = { entries: ['{"type":"cancelled"}'], open: false, outcome: 'cancelled', runState: 'Idle' } as const
    expect(await turn.commit({ ...end, end: { wait: 'any', next: null } })).toMatchObject({ kind: 'ok' })
  })

  test('a cancelling end is refused when Redis knows of no cancel: a fail-over lost it, and the run goes on (K18)', async () => {
    await using scene = await started({ mode: 'job' })
    const { place, session, node, turn } = scene
    const end = { entries: ['{"type":"cancelled"}'], open: false, outcome: 'cancelled', runState: 'Idle' } as const
    const changed = await place.changed(async () => {
      const answer = await turn.commit({ ...end, end: { wait: 'any', next: node.next() } })
      expect(answer).toEqual({ kind: 'conflict', version: 0 })
    })
    expect(changed).toEqual({})
    await place.expireLease(turn.worker)
    await node.sweep()
    await (await node.claim()).complete()
    expect(await place.session(session.id)).toMatchObject({ state: 'completed' })
  })
})

describe('a turn that ends and claims in one script', () => {
  test('a turn that ends and claims at once gets the next worker of its slot', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    await place.create({ label: 'two' })
    const next = node.next({ slot: '5' })
    const changed = await place.changed(async () => {
      const answer = await turn.complete({ end: { wait: 'any', next } })
      expect(answer.claimed).toMatchObject({ kind: 'assigned', assignment: { name: 'two', token: `1:${next.nonce}` } })
    })
    expect(changed).toMatchObject({
      'w:<one.root>': { status: 'idle', holder: '' },
      'w:<two.root>': { status: 'running', holder: next.nonce },
      leases: ['<two.root> now+60s'],
      'run:default': null,
    })
  })

  test('a turn that ends and claims at once gets its own worker again when that is the first in the run queue', async () => {
    await using scene = await started({ mode: 'conversation' })
    const { place, node, turn } = scene
    await place.post(turn.worker, 'second')
    const answer = await turn.complete({ end: { wait: 'any', next: node.next() } })
    expect(answer.claimed).toMatchObject({ kind: 'assigned', assignment: { workerId: turn.worker, run: 2, epoch: 2 } })
  })

  test('a turn that ends and claims at once gets nothing if nothing waits, and its wake-up is answered', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    await place.redis.zadd(place.keys.wakeups('default'), (await place.now()) + 20_000, 'mine')
    const answer = await turn.complete({ end: { wait: 'any', next: node.next({ wakeup: 'mine' }) }, wakeup: 'mine' })
    expect(answer.claimed).toEqual({ kind: 'empty' })
    expect(await place.redis.zscore(place.keys.wakeups('default'), 'mine')).toBeNull()
  })

  test('a turn that ends and claims at once claims nothing when it is not accepted', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    await place.create({ label: 'two' })
    turn.version = 3
    const changed = await place.changed(async () =>
      expect(await turn.commit({ end: { wait: 'any', next: node.next() } })).toMatchObject({ kind: 'conflict' }),
    )
    expect(changed).toEqual({})
  })
})
