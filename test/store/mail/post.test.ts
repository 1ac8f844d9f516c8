/** post: a message into a mailbox, and the wake of its worker, in one script. */
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { decodeMail } from '../../../src/core/worker/message/message.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { completion } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

const accepted = ['message.accepted <one.root> {"kind":"input"}']

describe('a message', () => {
  test('a message to an idle worker queues it and brings one wake-up', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation' })
    await (await place.node().claim()).complete()
    await place.redis.del(place.keys.wakeups('default'))
    expect(await place.changed(() => place.post(root, 'hello'))).toEqual({
      'w:<one.root>': { status: 'queued' },
      'w:<one.root>:mail:inbox': ['i\t-\t"hello"'],
      'run:default': ['<one.root> now'],
      'wakeups:default': ['w*-default-1 now+20s'],
      'idem:<key hello>': '1 w*-default-1 | for 600s',
      events: [accepted],
    })
  })

  test('a message to a queued worker waits behind the one before it, and the worker stays once in the run queue', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    expect(await place.changed(() => place.post(root, 'second'))).toEqual({
      'w:<one.root>:mail:inbox': ['i\t-\t"first"', 'i\t-\t"second"'],
      'idem:<key second>': '1  | for 600s',
      events: [accepted],
    })
  })

  test('a message to a running worker waits in the mailbox; the end of the turn finds it (K4)', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    await place.node().claim()
    expect(await place.changed(() => place.post(root, 'second'))).toEqual({
      'w:<one.root>:mail:inbox': ['i\t-\t"first"', 'i\t-\t"second"'],
      'idem:<key second>': '1  | for 600s',
      events: [accepted],
    })
  })

  test('a message is answered with its position in the lane, counted from the first message ever', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation' })
    expect(await place.post(root, 'b')).toMatchObject({ kind: 'ok', position: 1 })
    const turn = await place.node().claim()
    await turn.complete({ inputsConsumed: 2 })
    expect(await place.post(root, 'c')).toMatchObject({ kind: 'ok', position: 2 })
    const { assignment } = await place.node().claim()
    expect(assignment.mail.inbox.map((mail) => [mail.position, mail.message.id, mail.message.value])).toEqual([
      [2, 'inbox-2', 'c'],
    ])
  })

  test('a message of any text comes out as it went in', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const texts = ['\ud800 alone', 'tab\there\nline', '\u0000\u2028', '{"a":1}', '語😀']
    for (const text of texts) await place.post(root, text)
    const lane = await place.redis.lrange(place.workerKeys(root).inbox, 1, -1)
    expect(lane.map((mail, index) => decodeMail('inbox', index, mail).message.value)).toEqual(texts)
  })
})

describe('a parked worker', () => {
  test.each(['signals', 'retry', 'result:01890a5d-ac96-774b-bcce-b302099a8000', 'results:1'])(
    'a parked worker that waits for %s is not woken by input',
    async (wait) => {
      await using place = await Place.open()
      const { root } = await place.create()
      const turn = await place.node().claim()
      await turn.park(wait, { end: { wait, next: null, ...(wait === 'retry' ? { retryMs: 60_000 } : {}) } })
      expect(await place.changed(() => place.post(root, 'hello'))).toEqual({
        'w:<one.root>:mail:inbox': ['i\t-\t"hello"'],
        'idem:<key hello>': '1  | for 600s',
        events: [accepted],
      })
    },
  )

  test('a parked worker that waits for any message is woken by input', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    await (await place.node().claim()).park('any')
    expect(await place.changed(() => place.post(root, 'hello'))).toMatchObject({
      'w:<one.root>': { status: 'queued' },
      'run:default': ['<one.root> now'],
    })
  })
})

describe('a message under a known key', () => {
  test('a message under a known key gets the first answer, wake-ups included, and is not written again', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation' })
    await (await place.node().claim()).complete()
    await place.redis.del(place.keys.wakeups('default'))
    const first = await place.post(root, 'hello', 'key')
    const before = await place.dump()
    expect(before).toMatchObject({
      'idem:<key key>': expect.stringMatching(/^1 w\*-default-1 {2}[\w-]{22} \| for 86400s$/),
    })
    expect(await place.post(root, 'hello', 'key')).toEqual({ ...first, kind: 'again' })
    expect(await place.post(root, 'something else', 'key')).toEqual({ ...first, kind: 'other' })
    expect(first).toMatchObject({ kind: 'ok', wakeups: [{ pool: 'default' }] })
    expect(await place.dump()).toEqual(before)
  })

  test('a message under a known key gets the first answer even if the worker has finished, or its mailbox is full', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ limits: { mailbox: 2 } })
    const first = await place.post(root, 'hello', 'key')
    expect(await place.post(root, 'more')).toEqual({ kind: 'mailbox_full', most: 2 })
    expect(await place.post(root, 'hello', 'key')).toEqual({ ...first, kind: 'again' })
    const turn = await place.node().claim()
    await turn.complete({ inputsConsumed: 2 })
    expect(await place.post(root, 'late')).toEqual({ kind: 'session_finished', state: 'completed' })
    expect(await place.post(root, 'hello', 'key')).toEqual({ ...first, kind: 'again' })
  })

  test('a message sent by ten clients at once under one key is accepted once', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const answers = await Promise.all(Array.from({ length: 10 }, () => place.post(root, 'hello', 'key')))
    expect(answers.filter(({ kind }) => kind === 'ok')).toHaveLength(1)
    const again = answers.filter(({ kind }) => kind === 'again')
    expect(again).toHaveLength(9)
    expect(new Set(answers.map((answer) => 'position' in answer && answer.position))).toEqual(new Set([1]))
    expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(2)
  })
})

describe('a message that cannot be accepted', () => {
  test('a message is refused by a full mailbox, and consumed messages make room', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ limits: { mailbox: 2 }, mode: 'conversation' })
    await place.post(root, 'second')
    const refused = await place.changed(async () =>
      expect(await place.post(root, 'third')).toEqual({ kind: 'mailbox_full', most: 2 }),
    )
    expect(refused).toEqual({})
    await (await place.node().claim()).record({ inputsConsumed: 1, ...completion })
    expect(await place.post(root, 'third')).toMatchObject({ kind: 'ok', position: 2 })
  })

  test('a message is refused after a look at 10 000 others at most, where inputs that were taken early make room', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ limits: { mailbox: 10_001 } })
    const { inbox } = place.workerKeys(root)
    const waiting = Array.from({ length: 10_000 }, () => 'i\t-\t1')
    await place.redis.rpush(inbox, ...waiting)
    await place.redis.lset(inbox, 0, '')
    expect(await place.post(root, 'refused')).toEqual({ kind: 'mailbox_full', most: 10_001 })
    await place.redis.lset(inbox, 1, '')
    expect(await place.post(root, 'accepted')).toMatchObject({ kind: 'ok' })
  })

  test('a message is refused for a worker that is not known', async () => {
    await using place = await Place.open()
    const unknown = newId(0)
    const changed = await place.changed(async () =>
      expect(await place.post(unknown, 'hello')).toEqual({ kind: 'not_found' }),
    )
    expect(changed).toEqual({})
  })

  test.each(['completed', 'failed'] as const)('a message is refused by a session that has %s', async (outcome) => {
    await using place = await Place.open()
    const { root } = await place.create()
    await (await place.node().claim()).complete({ outcome })
    const changed = await place.changed(async () =>
      expect(await place.post(root, 'hello')).toEqual({ kind: 'session_finished', state: outcome }),
    )
    expect(changed).toEqual({})
  })

  test('a message is refused by a detached worker that is idle in an ended session', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const node = place.node()
    const child = place.child(root, 1, 'free', { detached: true })
    await (await node.claim()).complete({ spawns: [child] })
    await (await node.claim()).complete()
    expect(await place.post(child.id, 'hello')).toEqual({ kind: 'session_finished', state: 'completed' })
  })

  test('a message is refused by a worker whose session is gone', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const child = place.child(root, 1, 'left', { detached: true })
    await (await place.node().claim()).complete({ spawns: [child] })
    await place.redis.del(place.workerKeys(root).record)
    const changed = await place.changed(async () =>
      expect(await place.post(child.id, 'hello')).toEqual({ kind: 'session_finished', state: 'pruned' }),
    )
    expect(changed).toEqual({})
  })

  test('a message is refused by a session that is being cancelled, and by one that was', async () => {
    await using place = await Place.open()
    const { id, root } = await place.create()
    await place.sessions.cancel(id, 'enough')
    expect(await place.post(root, 'hello')).toEqual({ kind: 'session_finished', state: 'cancelling' })
    await place.node().upkeep.finishCancelled()
    expect(await place.post(root, 'hello')).toEqual({ kind: 'terminal' })
  })
})

describe('order', () => {
  test('the order of messages is the order of their acceptance (I3), through many turns', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation' })
    const seen: unknown[] = []
    const node = place.node()
    for (let round = 0; round < 5; round++) {
      for (let number = 0; number < 7; number++) await place.post(root, `${round}.${number}`)
      const turn = await node.claim()
      const taken = turn.assignment.mail.inbox.slice(0, 5)
      seen.push(...taken.map((mail) => mail.message.value))
      await turn.complete({ inputsConsumed: taken.length })
    }
    const rest = (await node.claim()).assignment.mail.inbox.map((mail) => mail.message.value)
    const expected = Array.from({ length: 35 }, (_, index) => `${Math.floor(index / 7)}.${index % 7}`)
    expect([...seen, ...rest]).toEqual(['first', ...expected])
  })

  test('workers run in the order in which they became runnable, a large session behind a small one', async () => {
    await using place = await Place.open()
    const big = await place.create({ label: 'big' })
    const turn = await place.node().claim()
    const children = [1, 2, 3, 4].map((call) => place.child(big.root, call, `child ${call}`))
    await turn.park('signals', { spawns: children, pendingCalls: [1, 2, 3, 4] })
    const scores = await place.redis.zrange(place.keys.run('default'), 0, '-1', 'WITHSCORES')
    const times = scores.filter((_, index) => index % 2 === 1).map(Number)
    expect(times).toEqual([0, 1, 2, 3].map((step) => (times[0] as number) + step * 1000))
    expect(await place.redis.hget(place.workerKeys(big.root).record, 'score')).toBe(String(times[3]))
  })
})

test('a message that Redis did not answer may be there: the error says where to look, or how its key sends it once', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  await using place = await Place.open({ redisUrl: server.url, deadlineMs: 500 })
  const { root } = await waitUntil('Redis answers', () => place.create({ mode: 'conversation' }).catch(() => null))
  const posted = (value: string, isGiven: boolean) =>
    place.sessions.post(root, `i\t-\t"${value}"`, { digest: value, isGiven }, '')
  await waitUntil('Redis knows the script', () => posted('known', false).catch(() => null))
  server.freeze()
  const late = await Promise.allSettled([posted('one', false), posted('two', true)])
  server.thaw()
  const where = expect.stringContaining(`may have been accepted: \`troupe mailbox list ${root}\``)
  const how = expect.stringContaining(`by worker ${root}: call again with the same idempotency key`)
  expect(late.map((one) => (one as { readonly reason?: unknown }).reason)).toMatchObject([
    { code: 'store_unavailable', message: where, details: { workerId: root } },
    { code: 'store_unavailable', message: how, details: { workerId: root } },
  ])
  const again = await waitUntil('Redis answers', () => posted('two', true).catch(() => null))
  expect(again).toMatchObject({ kind: 'again' })
})
