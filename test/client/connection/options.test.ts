/** A wrong option gives one clear sentence, before anything is connected or written. */
import { describe, expect, test } from 'vitest'
import { connect, type Troupe } from '../../../src/client/client.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newId } from '../../../src/core/ids.ts'
import { defaultSessionLimits } from '../../../src/core/policy.ts'
import { CountingServer } from '../../support/counting-server.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents } from '../../support/time/await-session.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

describe('connect', () => {
  test.each([
    [{ redis: { host: 'x' } }, /^connect does not know the option "redis"; it takes redisUrl, namespace, /],
    [{ redisURL: 'redis://x' }, /^connect does not know the option "redisURL"; .*Did you mean redisUrl\?$/],
    [{ namepsace: 'x' }, /^connect does not know the option "namepsace"; .*Did you mean namespace\?$/],
    [{ policy: {} }, /does not know the option "policy"/],
    [null, /^connect takes an object with redisUrl, .*, not null\.$/],
    ['redis://x', /^connect takes an object with redisUrl, /],
    [{ namespace: 'a b' }, /^namespace of connect must be a text of 1 to 64 letters, digits, "_" or "-", not "a b"\.$/],
    [{ namespace: 5 }, /^namespace of connect must be .*, not 5\.$/],
    [{ namespace: '' }, /^namespace of connect must be .*, not ""\.$/],
    [{ redisUrl: 5 }, /^redisUrl of connect must be a URL, like redis:\/\/.*, not 5\.$/],
    [{ redisUrl: ['redis://user:secret@host'] }, /^redisUrl of connect must be a URL, like redis:\/\/[^,]*\.$/],
    [{ redisUrl: 'localhost' }, /^the Redis URL must begin with redis:\/\//],
    [{ partitions: '4' }, /^partitions of connect must be a whole number from 1 to 4096, not "4"\.$/],
    [{ partitions: 0 }, /^partitions of connect must be a whole number from 1 to 4096, not 0\.$/],
    [{ deadlineMs: '5s' }, /^deadlineMs of connect must be a number of milliseconds from 1 to \d+, not "5s"\.$/],
    [{ deadlineMs: 0 }, /^deadlineMs of connect must be .*, not 0\.$/],
    [{ deadlineMs: Number.POSITIVE_INFINITY }, /^deadlineMs of connect must be .*, not Infinity\.$/],
    [{ logger: 'debug' }, /^logger of connect must be a logger like that of pino.*, not "debug"\.$/],
    [{ logger: { debug() {}, info() {}, warn() {} } }, /^logger of connect must be .* and error, not an object\.$/],
  ])('refuses %j, and opens no connection', async (options, message) => {
    await using server = await CountingServer.start()
    const given = options !== null && typeof options === 'object' ? { redisUrl: server.url, ...options } : options
    const connecting = connect(given as never)
    await expect(connecting).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringMatching(message) })
    expect(await server.connections()).toBe(0)
  })

  test('takes every option there is', async () => {
    await using troupe = await TestTroupe.connect()
    const { redisUrl, namespace } = troupe
    await using client = await connect({ redisUrl, namespace, partitions: 1, deadlineMs: 2_000.5 })
    expect(await client.sessions.list()).toEqual([])
  })

  test('an option that is undefined, like a variable that is not set, counts as left out', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const { redisUrl, namespace } = troupe
    const unset = undefined
    await using client = await connect({ redisUrl, namespace, partitions: unset, deadlineMs: unset, logger: unset })
    const session = await client.sessions.create({ kind: 'echo', input: 1, name: unset, idempotencyKey: unset })
    expect(await session.result({ run: unset, signal: unset })).toMatchObject({ value: 1 })
    expect(await client.sessions.list({ state: unset, kind: unset, limit: unset, before: unset })).toHaveLength(1)
    expect(await session.root.history({ after: unset, limit: unset })).toHaveLength(2)
    const events: string[] = []
    for await (const { type } of session.events({ after: '0-0', transient: unset, signal: unset })) events.push(type)
    expect(events).toContain('session.completed')
  })
})

describe('sessions.create', () => {
  test('treats an undefined option as an absent one', async () => {
    await using troupe = await TestTroupe.connect()
    const left = { name: undefined, keepOpen: undefined, permissions: undefined, idempotencyKey: undefined }
    const session = await troupe.create('echo', 1, { ...left, limits: { workers: 7, depth: undefined } as never })
    const { limits, name, mode } = (await session.report()).session
    expect({ limits, name, mode }).toEqual({
      limits: { ...defaultSessionLimits, workers: 7 },
      name: 'echo',
      mode: 'job',
    })
  })

  test.each([
    [undefined, /^sessions\.create takes an object with kind, input, .*, not undefined\.$/],
    ['echo', /^sessions\.create takes an object with kind, input, /],
    [{}, /^undefined is not a worker kind: use up to 64 letters, .* a lower-case letter or a digit first/],
    [{ kind: 'Counter' }, /^"Counter" is not a worker kind: .* a lower-case letter or a digit first/],
    [{ kind: Object.create(null) }, /^an object is not a worker kind/],
    [{ kind: 'echo', inptu: 1 }, /^sessions\.create does not know the option "inptu"; .*Did you mean input\?$/],
    [{ kind: 'echo', name: 5 }, /^name of sessions\.create must be a text of 1 to 64 bytes .*, not 5\.$/],
    [{ kind: 'echo', idempotencyKey: 5 }, /^idempotencyKey of sessions\.create must be a text .*, not 5\.$/],
    [{ kind: 'echo', idempotencyKey: null }, /^idempotencyKey of sessions\.create must be .*, not null\.$/],
    [{ kind: 'echo', idempotencyKey: '' }, /^idempotencyKey of sessions\.create must be .* not empty, not ""\.$/],
    [{ kind: 'echo', keepOpen: 'yes' }, /^keepOpen of sessions\.create must be true or false, not "yes"\.$/],
    [{ kind: 'echo', limits: 5 }, /^limits of sessions\.create must be an object like \{ workers: 500 \}, not 5\.$/],
    [{ kind: 'echo', limits: null }, /^limits of sessions\.create must be .*, not null\.$/],
    [{ kind: 'echo', limits: { worker: 5 } }, /^"worker" is not a limit: .*Did you mean workers\?$/],
    [{ kind: 'echo', limits: { toString: 5 } }, /^"toString" is not a limit/],
    [{ kind: 'echo', limits: { depth: 1n } }, /^the limit "depth" must be a whole number from 0 to 64, not 1n\.$/],
    [
      { kind: 'echo', permissions: 'all' },
      /^permissions of sessions\.create must be an object with tools, .*, not "all"\.$/,
    ],
    [
      { kind: 'echo', input: 1, permissions: { tool: ['a'] } },
      /^permissions\.tool is no restriction; there are tools, kinds, folder/,
    ],
  ])('refuses %o, and stores nothing', async (request, message) => {
    await using troupe = await TestTroupe.connect()
    const creating = troupe.client.sessions.create(request as never)
    await expect(creating).rejects.toMatchObject({ code: 'input_invalid', message: expect.stringMatching(message) })
    expect(await troupe.client.sessions.list()).toEqual([])
  })
})

describe('worker.send', () => {
  test.each([
    ['k1', /^send takes an object with idempotencyKey/],
    [null, /^send takes an object with idempotencyKey, when, not null\.$/],
    [{ key: 'k1' }, /^send does not know the option "key"; it takes idempotencyKey, when\.$/],
    [{ idempotencyKey: '' }, /^idempotencyKey of send must be a text that is not empty, not ""\.$/],
    [{ idempotencyKey: 5 }, /^idempotencyKey of send must be a text that is not empty, not 5\.$/],
  ])('refuses the options %j, and stores nothing', async (options, message) => {
    await using troupe = await TestTroupe.connect()
    const { root } = await troupe.create('echo', 1, { keepOpen: true })
    const sending = root.send('more', options as never)
    await expect(sending).rejects.toMatchObject({ code: 'input_invalid', message: expect.stringMatching(message) })
    expect(await root.mailbox()).toHaveLength(1)
  })
})

describe('session.events', () => {
  test.each(['', 'foo', 5, null, '1-', '-', '+', '(1-0', '1.2', '1-0.', '99999999999999999999-0'])(
    'refuses after: %j, and says what an event id is',
    async (after) => {
      await using troupe = await TestTroupe.connect()
      const session = troupe.client.sessions.get(newId(0))
      expect(() => session.events({ after } as never)).toThrow(
        expect.objectContaining({
          code: 'input_invalid',
          message: expect.stringMatching(/^after of events must be an event id like "1700000000000-0\.2", or "0-0" /),
        }),
      )
    },
  )

  test.each([
    [{ afetr: '0-0' }, /does not know the option "afetr"; .*Did you mean after\?$/],
    ['0-0', /^events takes an object with after, transient, follow, signal\.$/],
    [{ transient: 0 }, /^transient of events must be true or false, not 0\.$/],
    [{ signal: 'now' }, /^signal of events must be an AbortSignal, not "now"\.$/],
  ])('refuses the query %j', async (query, message) => {
    await using troupe = await TestTroupe.connect()
    expect(() => troupe.client.sessions.get(newId(0)).events(query as never)).toThrow(
      expect.objectContaining({ code: 'input_invalid', message: expect.stringMatching(message) }),
    )
  })

  test.each(['0-0', '0-1', '1-0.2', '1', '0'])('takes after: "%s", which means from the first event', async (after) => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo')
    await session.result()
    const types: string[] = []
    for await (const { type } of awaitEvents(session, { after })) types.push(type)
    expect([types.at(0), types.at(-1)]).toEqual(['session.created', 'session.completed'])
  })
})

describe('a question', () => {
  const id = newId(0)
  const questions: readonly [string, (client: Troupe, query: never) => Promise<unknown>, unknown, RegExp][] = [
    [
      'sessions.list',
      ({ sessions }, query) => sessions.list(query),
      { stat: 'active' },
      /"stat".*Did you mean state\?$/,
    ],
    [
      'sessions.list',
      ({ sessions }, query) => sessions.list(query),
      { state: 'done' },
      /^state of .* one of active, completed/,
    ],
    [
      'sessions.list',
      ({ sessions }, query) => sessions.list(query),
      { kind: 'Counter' },
      /^"Counter" is not a worker kind/,
    ],
    ['sessions.list', ({ sessions }, query) => sessions.list(query), { limit: 0 }, /^limit of .* whole number from 1/],
    ['sessions.list', ({ sessions }, query) => sessions.list(query), { limit: Number.NaN }, /^limit of .* not NaN\.$/],
    [
      'sessions.list',
      ({ sessions }, query) => sessions.list(query),
      5,
      /^sessions\.list takes an object with state, kind/,
    ],
    ['sessions.prune', ({ sessions }, query) => sessions.prune(query), { olderThan: 0 }, /Did you mean olderThanMs\?$/],
    [
      'sessions.prune',
      ({ sessions }, query) => sessions.prune(query),
      { olderThanMs: '7d' },
      /^olderThanMs of .*, not "7d"/,
    ],
    [
      'sessions.prune',
      ({ sessions }, query) => sessions.prune(query),
      { olderThanMs: -1 },
      /^olderThanMs of .*, not -1/,
    ],
    ['workers.list', ({ workers }, query) => workers.list(query), { session: id }, /Did you mean sessionId\?$/],
    [
      'workers.list',
      ({ workers }, query) => workers.list(query),
      { sessionId: 5 },
      /^sessionId of workers\.list must be an id/,
    ],
    ['deadLetters', (client, query) => client.deadLetters(query), { worker: id }, /Did you mean workerId\?$/],
    ['deadLetters', (client, query) => client.deadLetters(query), { workerId: 'x' }, /^"x" is not a worker id/],
    ['redrive', (client, query) => client.redrive(query), { all: 'yes' }, /^all of redrive must be true or false/],
    ['redrive', (client, query) => client.redrive(query), {}, /^redrive takes the id of a worker, or of a letter/],
    ['redrive', (client, query) => client.redrive(query), { all: true, workerId: id }, /^redrive takes the id of a/],
    ['redrive', (client, query) => client.redrive(query), { all: true, letter: '1-0' }, /^redrive takes the id of a/],
    ['dismiss', (client, query) => client.dismiss(query), {}, /^dismiss takes the id of a worker, or of a letter/],
    ['audit', (client, query) => client.audit(query), { session: id }, /Did you mean sessionId\?$/],
    [
      'history',
      ({ workers }, query) => workers.get(id).history(query),
      { from: 3 },
      /^history does not know the option "from"/,
    ],
    ['history', ({ workers }, query) => workers.get(id).history(query), { after: -2 }, /^after of history .* from -1/],
    [
      'mailbox',
      ({ workers }, query) => workers.get(id).mailbox(query),
      10,
      /^mailbox takes an object with limit, not 10/,
    ],
    [
      'result',
      ({ sessions }, query) => sessions.get(id).result(query),
      { run: 'last' },
      /^run of result .*, not "last"/,
    ],
    [
      'result',
      ({ sessions }, query) => sessions.get(id).result(query),
      { timeoutMs: 5 },
      /"timeoutMs"; it takes run, signal/,
    ],
    [
      'cancel',
      ({ sessions }, reason) => sessions.get(id).cancel(reason),
      { reason: 'x' },
      /^reason of cancel must be a text/,
    ],
    [
      'cancel',
      ({ sessions }, reason) => sessions.get(id).cancel(reason),
      'x'.repeat(1_001),
      /^reason of cancel .* 1000 bytes/,
    ],
    [
      'cancel',
      ({ sessions }, reason) => sessions.get(id).cancel(reason),
      'ß'.repeat(501),
      /^reason of cancel .* 1000 bytes/,
    ],
  ]
  test.each(questions)('a question about %s with a wrong option is refused', async (_, ask, query, told) => {
    await using troupe = await TestTroupe.connect()
    await expect(ask(troupe.client, query as never)).rejects.toMatchObject({
      code: 'input_invalid',
      message: expect.stringMatching(told),
    })
  })
})
