/** claim: the next worker that a node can run, with the right to write for it. */
import { describe, expect, test } from 'vitest'
import { policy as defaultPolicy } from '../../../src/core/policy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { assigned, completion, runFailure } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

const wakeup = 'b-mine-default-1'

describe('a claim', () => {
  test('a claim takes the first in the run queue, with a lease, a token and a start counted before any work', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    expect(await place.changed(() => node.claim({ wakeup, keepWakeup: true }))).toEqual({
      'w:<one.root>': { status: 'running', holder: '1.n', epoch: '1', starts: '1' },
      'run:default': null,
      leases: ['<one.root> now+60s'],
      'claims:node-a': { '0': expect.stringMatching(/1\.n.*<one\.root>/) },
      'wakeups:default': expect.arrayContaining([`${wakeup} now+20s`]),
    })
  })

  test('a claim returns everything that the turn needs', async () => {
    await using place = await Place.open()
    const { id, root } = await place.create({ limits: { workers: 9, children: 8, depth: 7, mailbox: 6 } })
    await place.post(root, 'second')
    const { assignment } = await place.node().claim()
    expect(assignment).toMatchObject({
      workerId: root,
      purpose: 'run',
      token: '1:1.n',
      epoch: 1,
      suspect: false,
      sessionId: id,
      parentId: null,
      call: null,
      kind: 'echo',
      name: 'one',
      pool: 'default',
      depth: 0,
      limits: { workers: 9, children: 8, depth: 7, mailbox: 6 },
      run: 1,
      open: false,
      runState: 'Idle',
      version: 0,
      attempt: 0,
      calls: 0,
      pendingCalls: [],
      signalsOpen: 0,
      stateJson: null,
      mail: { signals: [], results: [] },
    })
    expect(assignment.mail.inbox.map((mail) => mail.message.value)).toEqual(['first', 'second'])
  })

  test('a claim says which call waits for a child, and that no call waits for a detached one', async () => {
    await using place = await Place.open()
    const { id, root } = await place.create()
    const node = place.node()
    const turn = await node.claim()
    const spawns = [place.child(root, 1, 'child'), place.child(root, 2, 'free', { detached: true })]
    await turn.park('signals', { spawns, pendingCalls: [1] })
    const [child, free] = [await node.claim(), await node.claim()]
    expect(child.assignment).toMatchObject({
      parentId: root,
      call: 1,
      depth: 1,
      sessionId: id,
      name: 'child',
      kind: 'echo',
    })
    expect(free.assignment).toMatchObject({ parentId: root, call: null, depth: 1, sessionId: id })
  })

  test('a claim with nothing queued is empty, and its wake-up is answered', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim({ wakeup, keepWakeup: true })
    await turn.complete({ wakeup: '' })
    const changed = await place.changed(async () => expect(await node.ask({ wakeup })).toEqual({ kind: 'empty' }))
    expect(changed).toEqual({ 'wakeups:default': ['w*-default-1 now+20s'] })
  })

  test('a claim that finds nothing this node can run is unfit, and moves what it met to the queue of its kind', async () => {
    await using place = await Place.open()
    await place.create({ kind: 'other' })
    const node = place.node()
    const changed = await place.changed(async () => expect(await node.ask({ wakeup })).toEqual({ kind: 'unfit' }))
    expect(changed).toMatchObject({
      'run:default': null,
      'kind-queues:default:other': [expect.stringMatching(/^<one.root> /)],
    })
  })

  test('a claim passes over workers that its node cannot run, whatever the kinds look like', async () => {
    await using place = await Place.open()
    for (const [label, kind] of Object.entries({ a: 'ech', b: 'echo2', c: 'a/echo', d: 'cho', e: 'echo' }))
      await place.create({ label, kind })
    const { assignment } = await place.node().claim()
    expect(assignment.name).toBe('e')
  })

  test.each([0, 1, 31, 32, 33, 511])(
    'a claim takes the first worker that fits, behind %i that do not',
    async (before) => {
      await using place = await Place.open()
      for (let number = 0; number < before; number++) await place.create({ label: `x${number}`, kind: 'other' })
      await place.create({ label: 'in reach' })
      expect((await place.node().claim()).assignment.name).toBe('in reach')
    },
  )

  test('a claim looks at 512 workers at most', async () => {
    await using place = await Place.open()
    for (let number = 0; number < 512; number++) await place.create({ label: `x${number}`, kind: 'other' })
    await place.create({ label: 'out of reach' })
    expect(await place.node().ask()).toEqual({ kind: 'unfit' })
  })

  test('a claim takes workers in the order in which they became runnable', async () => {
    await using place = await Place.open()
    for (const label of ['a', 'b', 'c']) await place.create({ label })
    const node = place.node()
    const names = [await node.claim(), await node.claim({ slot: '1' }), await node.claim({ slot: '2' })]
    expect(names.map((turn) => turn.assignment.name)).toEqual(['a', 'b', 'c'])
  })

  test('a claim drops workers that are not queued from the run queue, and takes the next', async () => {
    await using place = await Place.open()
    const gone = await place.create({ label: 'gone' })
    await place.create({ label: 'here' })
    await place.redis.del(place.workerKeys(gone.root).record)
    const turn = await place.node().claim()
    expect(turn.assignment.name).toBe('here')
    expect(await place.redis.zcard(place.keys.run('default'))).toBe(0)
  })

  test('a claim hands out at most so many bytes of mail, and one mail at least; the rest follows', async () => {
    await using place = await Place.open({ policy: { claimMailBytes: 1_000 } })
    const { root } = await place.create({ mode: 'conversation', input: 'x'.repeat(5_000) })
    for (let number = 0; number < 40; number++) await place.post(root, `${number} ${'y'.repeat(90)}`)
    const node = place.node()
    const first = await node.claim()
    expect(first.assignment.mail.inbox).toHaveLength(1)
    await first.complete()
    const second = await node.claim()
    expect(second.assignment.mail.inbox.length).toBeGreaterThan(5)
    expect(second.assignment.mail.inbox.length).toBeLessThan(12)
    expect(second.assignment.mail.inbox.map((mail) => mail.position)).toEqual(
      second.assignment.mail.inbox.map((_, index) => index + 1),
    )
  })

  test('a claim hands out no more mails than a turn may receive, however many wait; the rest follows', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation', limits: { mailbox: 1_000 } })
    for (let number = 0; number < 200; number++) await place.post(root, `${number}`)
    const node = place.node()
    const first = await node.claim()
    expect(first.assignment.mail.inbox.length).toBeGreaterThanOrEqual(2 * defaultPolicy.turnSliceSteps)
    expect(first.assignment.mail.inbox.length).toBeLessThan(100)
    await first.complete()
    const { assignment } = await node.claim()
    expect(assignment.mail.inbox[0]?.position).toBe(1)
  })

  test('a claim hands out no more timers than a turn may receive', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const node = place.node()
    const timers = Array.from({ length: 200 }, (_, number) => ({ id: `t${number}`, ms: 0, valueJson: `${number}` }))
    await (await node.claim()).park('signals', { timers, signalsOpen: 200 })
    await waitUntil('all have fired', async () => {
      await node.upkeep.fire()
      return (await place.redis.llen(place.workerKeys(root).signals)) === 200
    })
    const { assignment } = await node.claim()
    expect(assignment.mail.signals.length).toBeGreaterThanOrEqual(2 * defaultPolicy.turnSliceSteps)
    expect(assignment.mail.signals.length).toBeLessThan(100)
  })

  test('a claim clears the last failure when a run starts', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation' })
    const node = place.node()
    await (await node.claim()).record({
      ...completion,
      inputsConsumed: 1,
      runState: 'Failed',
      outcome: 'failed',
      failure: runFailure,
    })
    expect(await place.dump()).toMatchObject({
      'w:<one.root>:failure': JSON.stringify(runFailure),
      'w:<one.root>': { failed: '1' },
    })
    await place.post(root, 'again')
    const changed = await place.changed(() => node.claim())
    expect(changed).toMatchObject({ 'w:<one.root>:failure': null, 'w:<one.root>': { failed: '0' } })
  })

  test('a claim keeps the last failure if no message waits: the turn was released after its run had ended (I11)', async () => {
    await using place = await Place.open()
    await place.create({ mode: 'conversation' })
    const node = place.node()
    const turn = await node.claim()
    const failing = {
      ...completion,
      inputsConsumed: 1,
      runState: 'Failed',
      outcome: 'failed',
      failure: runFailure,
    } as const
    await turn.record({ ...failing, end: undefined })
    await turn.record({ runState: 'Failed', open: false, end: { wait: 'again', next: null } })
    const again = await node.claim()
    await again.record({ runState: 'Failed', open: false, end: { wait: 'any', next: null } })
    expect(await place.dump()).toMatchObject({
      'w:<one.root>:failure': JSON.stringify(runFailure),
      'w:<one.root>': { failed: '1', status: 'idle' },
    })
  })

  test('a claim keeps the last failure while the same message is tried again', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const failure = {
      code: 'handler_failed',
      message: 'x',
      origin: 'handler',
      at: 1,
      attempt: 1,
      retryable: true,
    } as const
    await (await node.claim()).record({
      open: false,
      attempt: 1,
      retrying: 'inbox:0',
      runState: 'TransientFailure',
      failure,
      end: { wait: 'retry', retryMs: 0, next: null },
    })
    await node.upkeep.fire()
    const turn = await node.claim()
    expect(turn.assignment).toMatchObject({ attempt: 1, retrying: 'inbox:0', runState: 'TransientFailure' })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { failed: '1' } })
  })
})

describe('a wake-up', () => {
  test('a wake-up that turned busy counts as awake again with the next assignment', async () => {
    await using place = await Place.open()
    await place.create({ label: 'a' })
    await place.create({ label: 'b' })
    const node = place.node()
    const turn = await node.claim({ wakeup, keepWakeup: true })
    await node.turns.renew([{ workerId: turn.worker, token: turn.assignment.token, wakeup, becomesBusy: true }])
    expect(await place.dump()).toMatchObject({ 'busy:default': [`${wakeup} now+60s`] })
    const changed = await place.changed(() => node.claim({ wakeup, keepWakeup: true, wasBusy: true }))
    expect(changed).toMatchObject({
      'busy:default': null,
      'wakeups:default': expect.arrayContaining([`${wakeup} now+20s`]),
    })
  })

  test('a wake-up leaves both sets when no work is left', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim({ wakeup, keepWakeup: true })
    await node.turns.renew([{ workerId: turn.worker, token: turn.assignment.token, wakeup, becomesBusy: true }])
    expect(await node.ask({ wakeup, wasBusy: true })).toEqual({ kind: 'empty' })
    expect(await place.dump()).not.toHaveProperty('busy:default')
  })
})

describe('poison', () => {
  /** Claims and loses the lease, as when the node dies. */
  async function crash(place: Place, maySuspect = true) {
    const node = place.node()
    const answer = await node.ask({ maySuspect })
    if (answer.kind === 'assigned') {
      await place.expireLease(answer.assignment.workerId)
      await node.sweep({ free: 0 })
    }
    return answer
  }

  test('a worker with two starts without a commit is a suspect, which runs only where no other suspect does', async () => {
    await using place = await Place.open()
    await place.create()
    expect(assigned(await crash(place))).toMatchObject({ starts: expect.any(Number), suspect: false, crashes: 0 })
    expect(assigned(await crash(place, false))).toMatchObject({ suspect: false, crashes: 1 })
    expect(await crash(place, false)).toEqual({ kind: 'unfit' })
    expect(assigned(await crash(place))).toMatchObject({ suspect: true, purpose: 'run', crashes: 2 })
  })

  test('a worker with three isolated starts is quarantined (I14)', async () => {
    await using place = await Place.open()
    await place.create()
    for (let start = 0; start < 5; start++) expect(assigned(await crash(place)).purpose).toBe('run')
    expect(assigned(await crash(place, false))).toMatchObject({ purpose: 'poison', suspect: false, crashes: 5 })
    expect(assigned(await crash(place, false)).purpose).toBe('poison')
  })

  test('a commit ends the suspicion', async () => {
    await using place = await Place.open()
    await place.create()
    for (let start = 0; start < 4; start++) await crash(place)
    const turn = await place.node().claim()
    expect(turn.assignment.suspect).toBe(true)
    await turn.record({ entries: ['{}'] })
    await place.expireLease(turn.worker)
    await place.node().sweep({ free: 0 })
    const { assignment } = await place.node().claim({ maySuspect: false })
    expect(assignment).toMatchObject({ purpose: 'run', suspect: false })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { starts: '1', isolated: '0' } })
  })

  test('other workers are claimed past a suspect', async () => {
    await using place = await Place.open()
    await place.create({ label: 'bad' })
    for (let start = 0; start < 2; start++) await crash(place)
    await place.create({ label: 'good' })
    expect((await place.node().claim({ maySuspect: false })).assignment.name).toBe('good')
  })

  test('many innocent workers of a dead node are no suspects: each has one start', async () => {
    await using place = await Place.open()
    const node = place.node()
    for (let number = 0; number < 10; number++) await place.create({ label: `w${number}` })
    const turns = []
    for (let number = 0; number < 10; number++) turns.push(await node.claim({ slot: String(number) }))
    for (const turn of turns) await place.expireLease(turn.worker)
    expect(await node.sweep({ free: 0 })).toMatchObject({ healed: 10 })
    for (let number = 0; number < 10; number++)
      expect((await node.claim({ slot: String(number), maySuspect: false })).assignment.suspect).toBe(false)
  })
})

describe('a cancelled worker that is queued', () => {
  test('a queued worker that was cancelled is assigned only for its cancelling end, and its start is not counted as suspicious', async () => {
    await using place = await Place.open()
    const { id } = await place.create()
    await place.sessions.cancel(id, 'enough')
    const turn = await place.node().claim({ maySuspect: false })
    expect(turn.assignment.purpose).toBe('cancelled')
    expect(await turn.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
    expect(await place.redis.llen(place.workerKeys(turn.worker).log)).toBe(0)
  })
})
