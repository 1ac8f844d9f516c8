/** commit: children and messages to others, all or nothing. */
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import type { SessionLimits } from '../../../src/core/policy.ts'
import { encodeInput } from '../../../src/core/worker/message/message.ts'
import { workerKeys } from '../../../src/store/keys.ts'
import type { CommitWish } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

async function started(limits: Partial<SessionLimits> = {}) {
  const place = await Place.open()
  const session = await place.create({ limits })
  const node = place.node()
  const turn = await node.claim()
  return { place, session, node, turn, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

const mailTo = (workerId: string, text: string) => ({ workerId, mail: encodeInput(null, JSON.stringify(text)) })

describe('a spawn', () => {
  test('a spawn makes a record, a mailbox with the input and a place in the run queue', async () => {
    await using scene = await started({ workers: 9, children: 8, depth: 7, mailbox: 6 })
    const { place, turn } = scene
    const changed = await place.changed(() =>
      turn.park('signals', { spawns: [place.child(turn.worker, 1, 'child')], pendingCalls: [1] }),
    )
    expect(changed).toEqual({
      'w:<child>': {
        status: 'queued',
        kind: 'echo',
        name: 'child',
        session: '<one>',
        parent: '<one.root>',
        parentRun: '1',
        call: '1',
        depth: '1',
        path1: '<one.root>:1',
        limits: '9 8 7 6',
      },
      'w:<child>:mail:inbox': ['i\t<one.root>\t"for child"'],
      's:<one>:workers': ['<child>'],
      's:<one>': { workers: '2' },
      'run:default': ['<child> now'],
      'w:<one.root>': expect.objectContaining({ status: 'parked', calls: '1', pendingCalls: '1', holder: '' }),
      'w:<one.root>:log': ['{"type":"received"}'],
      'w:<one.root>:mail:inbox': null,
      leases: null,
    })
  })

  test('a spawned grandchild has the whole path, a detached one a path that no end of a run finds', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    const spawns = [place.child(turn.worker, 1, 'child'), place.child(turn.worker, 2, 'free', { detached: true })]
    await turn.park('signals', { spawns, pendingCalls: [1] })
    const child = await node.claim()
    const free = await node.claim()
    await child.park('signals', {
      spawns: [
        place.child(child.worker, 1, 'grandchild'),
        place.child(child.worker, 2, 'free grandchild', { detached: true }),
      ],
      pendingCalls: [1],
    })
    await free.park('signals', { spawns: [place.child(free.worker, 1, 'child of free')], pendingCalls: [1] })
    expect(await place.dump()).toMatchObject({
      'w:<free>': { path1: '<one.root>:-', parentRun: '-', parent: '<one.root>' },
      'w:<grandchild>': { depth: '2', path1: '<one.root>:1', path2: '<child>:1', parentRun: '1' },
      'w:<free grandchild>': { depth: '2', path1: '<one.root>:-', path2: '<child>:-', parentRun: '-' },
      'w:<child of free>': { depth: '2', path1: '<one.root>:-', path2: '<free>:1', parentRun: '1' },
    })
  })

  test('a repeated spawn is the same child (I8)', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const spawns = [place.child(turn.worker, 1, 'child')]
    await turn.record({ spawns, pendingCalls: [1] })
    const changed = await place.changed(() => turn.record({ spawns, pendingCalls: [1] }))
    expect(changed).toEqual({ 'w:<one.root>': { version: '2', committed: '1.n:2' } })
  })

  test('a spawn of a thousand children is one commit', async () => {
    await using scene = await started({ children: 1_000, workers: 2_000 })
    const { place, turn } = scene
    const calls = Array.from({ length: 1_000 }, (_, index) => index + 1)
    const spawns = calls.map((call) => place.child(turn.worker, call, `c${call}`))
    await turn.record({ spawns, pendingCalls: calls })
    expect(await place.redis.lrange(place.sessionKeys(scene.session.id).workers, 0, -1)).toEqual(
      spawns.map(({ id }) => id),
    )
    expect(await place.redis.zcard(place.keys.run('default'))).toBe(1_000)
    expect((await place.session(scene.session.id)).workers).toBe('1001')
    expect((await place.record(turn.worker)).pendingCalls).toBe('1-1000')
  })

  test('a spawn of children that need many wake-ups keeps the record small, and sends the same wake-ups again (0001)', async () => {
    await using scene = await started({ children: 50 })
    const { place, node, turn } = scene
    await place.redis.set(place.keys.slots('default'), '50')
    const calls = Array.from({ length: 40 }, (_, index) => index + 1)
    const spawns = calls.map((call) => place.child(turn.worker, call, `child ${call}`))
    const request = turn.request({ spawns, end: { wait: 'signals', next: null }, inputsConsumed: 1 })
    const first = await node.turns.commit(request)
    const again = await node.turns.commit(request)
    expect(again).toEqual(first)
    const wakeups = first.kind === 'ok' ? first.wakeups.map(({ id }) => id) : []
    // That of the session's creation is out still.
    expect(new Set(wakeups).size).toBe(39)
    expect(await place.redis.zrange(place.keys.wakeups('default'), '0', '-1')).toEqual(expect.arrayContaining(wakeups))
    const { record } = workerKeys(place.keys.tag, turn.worker)
    // Redis 6.2 knows its small hashes by another name.
    expect(['listpack', 'ziplist']).toContain(await place.redis.object('ENCODING', record))
  })

  test('a spawn into several pools puts each child where it can run', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const spawns = [
      place.child(turn.worker, 1, 'a', { pool: 'gpu', kind: 'paint' }),
      place.child(turn.worker, 2, 'b', { pool: 'unhosted' }),
    ]
    expect(await place.changed(() => turn.park('signals', { spawns, pendingCalls: [1, 2] }))).toMatchObject({
      'run:gpu': ['<a> now'],
      'run:unhosted': ['<b> now'],
      'w:<a>': { pool: 'gpu', kind: 'paint' },
      'w:<b>': { pool: 'unhosted' },
    })
  })
})

describe('a message to another worker', () => {
  test('a message to another worker is put into its mailbox and wakes it', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    const other = await place.create({ label: 'two', mode: 'conversation' })
    await (await node.claim()).complete()
    const changed = await place.changed(() =>
      turn.record({ sends: [mailTo(other.root, 'a'), mailTo(other.root, 'b')] }),
    )
    expect(changed).toMatchObject({
      'w:<two.root>:mail:inbox': ['i\t-\t"a"', 'i\t-\t"b"'],
      'w:<two.root>': { status: 'queued' },
      'run:default': ['<two.root> now'],
    })
  })

  test('a message to a worker that is spawned in the same commit follows its first input, in order', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const child = place.child(turn.worker, 1, 'child')
    await turn.record({ spawns: [child], pendingCalls: [1], sends: [mailTo(child.id, 'a'), mailTo(child.id, 'b')] })
    expect(await place.dump()).toMatchObject({
      'w:<child>:mail:inbox': ['i\t<one.root>\t"for child"', 'i\t-\t"a"', 'i\t-\t"b"'],
      'run:default': ['<child> now'],
    })
  })

  test('a message of a worker to itself is found by the end of the turn', async () => {
    await using scene = await started({})
    const { place, turn } = scene
    const changed = await place.changed(() => turn.complete({ sends: [mailTo(turn.worker, 'note to self')] }))
    expect(changed).toMatchObject({
      'w:<one.root>:mail:inbox': ['i\t-\t"note to self"'],
      'w:<one.root>': { status: 'queued', run: '2' },
      's:<one>': { 'result:1': 'completed 1' },
    })
    expect((await place.session(scene.session.id)).state).toBe('active')
  })

  test('a thousand messages of one commit are written whole or not at all, also to a child of the same commit', async () => {
    await using scene = await started({ mailbox: 100_000 })
    const { place, turn } = scene
    const child = place.child(turn.worker, 1, 'child')
    const sends = Array.from({ length: 9_000 }, (_, index) => mailTo(child.id, String(index)))
    await turn.record({ spawns: [child], pendingCalls: [1], sends })
    expect(await place.redis.llen(place.workerKeys(child.id).inbox)).toBe(9_001)
    expect(await place.record(child.id)).toMatchObject({ status: 'queued' })
  })
})

describe('a commit is refused whole', () => {
  /** What is answered, and what it changed. */
  async function attempt(scene: Awaited<ReturnType<typeof started>>, wish: CommitWish) {
    let answer: unknown
    const changed = await scene.place.changed(async () => {
      answer = await scene.turn.commit({ entries: ['{"never":1}'], inputsConsumed: 1, stateJson: '1', ...wish })
    })
    return { answer, changed }
  }

  const refused = (...refusals: unknown[]) => ({ answer: { kind: 'refused', refusals }, changed: {} })

  test('a commit is refused when a child would be too deep', async () => {
    await using scene = await started({ depth: 0 })
    const child = scene.place.child(scene.turn.worker, 1, 'child')
    const refusal = { reason: 'depth_exceeded', limit: 0, id: child.id }
    expect(await attempt(scene, { spawns: [child], pendingCalls: [1] })).toEqual(refused(refusal))
  })

  test('a commit is refused when more children would be awaited than allowed; as many as allowed are fine', async () => {
    await using scene = await started({ children: 2 })
    const spawns = [1, 2, 3].map((call) => scene.place.child(scene.turn.worker, call, `c${call}`))
    const refusal = { reason: 'children_exceeded', limit: 2, id: spawns[0]?.id }
    expect(await attempt(scene, { spawns, pendingCalls: [1, 2, 3] })).toEqual(refused(refusal))
    expect(await scene.turn.commit({ spawns: spawns.slice(0, 2), pendingCalls: [1, 2] })).toMatchObject({ kind: 'ok' })
    const third = { reason: 'children_exceeded', limit: 2, id: spawns[2]?.id }
    expect(await attempt(scene, { spawns: spawns.slice(2), pendingCalls: [1, 2, 3] })).toEqual(refused(third))
  })

  test('a commit is not refused for its detached children, which are not counted as awaited', async () => {
    await using scene = await started({ children: 1 })
    const spawns = [1, 2, 3].map((call) => scene.place.child(scene.turn.worker, call, `c${call}`, { detached: true }))
    expect(await scene.turn.commit({ spawns })).toMatchObject({ kind: 'ok' })
  })

  test('a commit is refused when the session would have had too many workers, detached ones included', async () => {
    await using scene = await started({ workers: 3 })
    const { place, turn } = scene
    const spawns = [1, 2, 3].map((call) => place.child(turn.worker, call, `c${call}`, { detached: call === 3 }))
    expect(await attempt(scene, { spawns, pendingCalls: [1, 2] })).toEqual(
      refused({ reason: 'workers_exceeded', limit: 3, id: spawns[0]?.id }),
    )
    expect(await turn.commit({ spawns: spawns.slice(0, 2), pendingCalls: [1, 2] })).toMatchObject({ kind: 'ok' })
    expect(await attempt(scene, { spawns: spawns.slice(2), pendingCalls: [1, 2] })).toEqual(
      refused({ reason: 'workers_exceeded', limit: 3, id: spawns[2]?.id }),
    )
  })

  test('a commit is refused when the count of workers is no number, with an error that names the field', async () => {
    await using scene = await started()
    const { place, turn } = scene
    const { record } = place.workerKeys(turn.worker)
    await place.redis.hset(record, 'workers', 'some')
    const spawns = [place.child(turn.worker, 1, 'child')]
    const changed = await place.changed(() =>
      expect(turn.commit({ spawns })).rejects.toThrow(`field workers of ${record} should be a whole number`),
    )
    expect(changed).toEqual({})
  })

  test('a commit is refused when a mailbox is full, counting all messages of the commit', async () => {
    await using scene = await started()
    const { place } = scene
    const other = await place.create({ label: 'two', limits: { mailbox: 3 } })
    const sends = ['a', 'b', 'c'].map((text) => mailTo(other.root, text))
    expect(await attempt(scene, { sends })).toEqual(refused({ reason: 'mailbox_full', limit: 3, id: other.root }))
    expect(await scene.turn.commit({ sends: sends.slice(0, 2) })).toMatchObject({ kind: 'ok' })
    expect(await place.redis.llen(place.workerKeys(other.root).inbox)).toBe(3)
  })

  test('a commit is refused when the mailbox of a child it spawns would be over full', async () => {
    await using scene = await started({ mailbox: 3 })
    const child = scene.place.child(scene.turn.worker, 1, 'child')
    const sends = ['a', 'b', 'c'].map((text) => mailTo(child.id, text))
    expect(await attempt(scene, { spawns: [child], pendingCalls: [1], sends })).toEqual(
      refused({ reason: 'mailbox_full', limit: 3, id: child.id }),
    )
  })

  test('a commit is refused when a recipient is not known', async () => {
    await using scene = await started()
    const unknown = newId(0)
    expect(await attempt(scene, { sends: [mailTo(unknown, 'a')] })).toEqual(
      refused({ reason: 'not_found', id: unknown }),
    )
  })

  test('a commit is refused when the session of a recipient has finished', async () => {
    await using scene = await started()
    const { place, node } = scene
    const other = await place.create({ label: 'two' })
    await (await node.claim()).complete()
    expect(await attempt(scene, { sends: [mailTo(other.root, 'a')] })).toEqual(
      refused({ reason: 'session_finished', id: other.root, state: 'completed' }),
    )
  })

  test('a commit is refused when the session of a recipient is being cancelled, and the refusal says so', async () => {
    await using scene = await started()
    const other = await scene.place.create({ label: 'two' })
    await scene.place.sessions.cancel(other.id, 'enough')
    expect(await attempt(scene, { sends: [mailTo(other.root, 'a')] })).toEqual(
      refused({ reason: 'session_finished', id: other.root, state: 'cancelling' }),
    )
  })

  test('a commit is refused when a recipient was cancelled for good', async () => {
    await using scene = await started()
    const { place, node } = scene
    const other = await place.create({ label: 'two' })
    await place.sessions.cancel(other.id, 'enough')
    await node.upkeep.finishCancelled()
    expect(await attempt(scene, { sends: [mailTo(other.root, 'a')] })).toEqual(
      refused({ reason: 'terminal', id: other.root }),
    )
  })

  test('a commit is refused with every reason, when there are several', async () => {
    await using scene = await started({ depth: 0 })
    const { place, turn } = scene
    const [first, second] = [newId(0), newId(0)]
    const child = place.child(turn.worker, 1, 'child')
    expect(
      await attempt(scene, {
        spawns: [child],
        pendingCalls: [1],
        sends: [mailTo(first, 'a'), mailTo(turn.worker, 'fine'), mailTo(second, 'b')],
      }),
    ).toEqual(
      refused(
        { reason: 'depth_exceeded', limit: 0, id: child.id },
        { reason: 'not_found', id: first },
        { reason: 'not_found', id: second },
      ),
    )
  })

  test('a refused commit may be followed by another of the same turn', async () => {
    await using scene = await started()
    expect(await scene.turn.commit({ sends: [mailTo(newId(0), 'a')] })).toMatchObject({ kind: 'refused' })
    expect(await scene.turn.commit({ entries: ['{}'] })).toMatchObject({ kind: 'ok', version: 1 })
  })
})
