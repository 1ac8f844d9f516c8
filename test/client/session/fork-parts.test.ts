/** Which agents, asks, approvals, tool calls and children a fork of a live session has. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../src/core/definition/model.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import type { Message } from '../../../src/core/worker/message/message.ts'
import { call, say, together } from '../../../src/models/local/scripted-model.ts'
import { sessionKeys } from '../../../src/store/keys.ts'
import { expectSound, isParked, look, openAsks, pay, resultOf, tools } from '../../support/person/approvals.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { tool } from '../../support/provider/run-agent.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const hasResults = ({ messages }: ModelRequest) => messages.at(-1)?.role === 'tool'
const toolTexts = ({ messages }: ModelRequest) => JSON.stringify(messages.filter(({ role }) => role === 'tool'))

/** An agent that pays and looks once, then says what came of it. */
const payer = () =>
  recordedModel('test/m', (request) => (hasResults(request) ? say(toolTexts(request)) : together(look(), pay(5))))

const asker = defineWorker({
  receive: (message, self) => {
    if (message.kind === 'answer') return self.reply(message.value)
    self.ask('How many?', { expiresMs: 600_000 })
    self.after(600_000, 'late')
  },
})

/** Waits for the answers of two children, and adds them. */
const adder = defineWorker({
  receive: (message: Message, self) => {
    if (message.kind === 'input') {
      for (const name of ['one', 'two']) self.spawn('asker', {}, { name })
      return self.setState(0)
    }
    const sum = (self.state as number) + (message.value as number)
    self.setState(sum)
    if (self.openChildren === 0) self.reply(sum)
  },
})

describe('a fork of a session', () => {
  test('a fork of a session whose children ask has asks of its own, and each of the two gets its own answer', async () => {
    await using troupe = await TestTroupe.start({ workers: { adder, asker } })
    const session = await troupe.create('adder')
    const first = await openAsks(troupe, 2)
    await isParked(session)
    // Results are received in the order of the spawns.
    await troupe.client.asks.answer(first.find(({ workerName }) => workerName === 'one')?.id as string, 1)
    await waitUntil('one child has reported', async () => (await session.root.report()).openChildren === 1)
    await isParked(session)
    const copy = await session.fork()
    const open = await openAsks(troupe, 2)
    expect(new Set(open.map(({ sessionId }) => sessionId))).toEqual(new Set([session.id, copy.id]))
    const { workers } = await copy.report()
    const ids = new Set((await session.report()).workers.map(({ id }) => id))
    expect(workers.map(({ name, id }) => [name, ids.has(id)])).toEqual([
      ['adder', false],
      ['one', false],
      ['two', false],
    ])
    for (const { id, sessionId } of open) await troupe.client.asks.answer(id, sessionId === copy.id ? 20 : 2)
    expect(await resultOf(session)).toMatchObject({ value: 3 })
    expect(await resultOf(copy)).toMatchObject({ value: 21 })
    await expectSound(troupe)
  })

  test('a fork of a session asks for the same approval in both, and each runs the call that was approved there', async () => {
    const { ledger, tools: made } = tools()
    const clerk = defineWorker({ instructions: 'x', model: payer(), tools: made })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    await openAsks(troupe, 1)
    await isParked(session)
    const copy = await session.fork()
    for (const { id, sessionId } of await openAsks(troupe, 2))
      await troupe.client.asks.answer(id, sessionId === copy.id ? 'deny' : 'approve')
    expect(JSON.stringify(await resultOf(session))).toContain('paid 5')
    expect(JSON.stringify(await resultOf(copy))).not.toContain('paid 5')
    expect(ledger.filter((what) => what === 'paid 5')).toHaveLength(1)
    await expectSound(troupe)
  })

  test('a fork does not know the outcome of a call that was started; the original session does', async () => {
    const started = Promise.withResolvers<void>()
    const ends = Promise.withResolvers<void>()
    const pays = defineTool({
      name: 'pay',
      description: 'Pays.',
      effect: 'once',
      approval: 'never',
      input: z.object({ amount: z.number() }),
      run: async () => {
        started.resolve()
        await ends.promise
        return 'paid'
      },
    })
    const clerk = defineWorker({
      instructions: 'x',
      model: payer(),
      tools: [pays, tool('look', () => 'seen')],
      onUnknown: 'tell',
    })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    await started.promise
    const copy = await session.fork()
    expect(JSON.stringify(await resultOf(copy))).toMatch(/outcome of this call of 'pay' is unknown/)
    const dry = await session.fork({ dryRun: true })
    expect(JSON.stringify(await resultOf(dry))).toMatch(/call of 'pay' was not run/)
    ends.resolve()
    expect(JSON.stringify(await resultOf(session))).toContain('paid')
    await expectSound(troupe)
  })

  test('a fork as a dry run runs only tools without effects, and says so to models, handlers and readers', async () => {
    const ran: string[] = []
    const note = (what: string) => () => {
      ran.push(what)
      return what
    }
    const serial = ['look', 'put', 'post'].map((name) => ({ tool: name }))
    const all = defineTool({ name: 'all', description: 'Does all.', recipe: () => ({ serial }) })
    const agent = defineWorker({
      instructions: 'x',
      model: recordedModel('test/m', (request) =>
        hasResults(request)
          ? say(toolTexts(request))
          : /begin/.test(JSON.stringify(request.messages.at(-1)))
            ? say('begun')
            : together(
                call('look'),
                call('put'),
                call('post'),
                call('all'),
                call('spawn_workers', { tasks: [{ kind: 'handler', input: 1 }] }),
              ),
      ),
      tools: [
        tool('look', note('look')),
        tool('put', note('put'), 'idempotent'),
        tool('post', note('post'), 'once'),
        all,
      ],
      spawns: ['handler'],
    })
    const handler = defineWorker({ description: 'Tells.', receive: (_, self) => self.reply({ dryRun: self.dryRun }) })
    await using troupe = await TestTroupe.start({ workers: { agent, handler } })
    const session = await troupe.create('agent', 'begin', { keepOpen: true })
    await session.result({ run: 1 })
    const copy = await session.fork({ dryRun: true })
    await copy.root.send('go on')
    const told = JSON.stringify(await copy.result({ run: 2 }))
    expect(ran).toEqual(['look', 'look'])
    expect(told).toMatch(/call of 'put' was not run.*call of 'post' was not run/)
    expect(told).toMatch(/dryRun[^a-z]+true/)
    expect((await copy.report()).session.forkedFrom).toMatchObject({ sessionId: session.id, dryRun: true })
    const listed = await troupe.client.sessions.list()
    expect(listed.map(({ id, forkedFrom }) => [id, forkedFrom?.sessionId ?? null])).toEqual([
      [copy.id, session.id],
      [session.id, null],
    ])
    await expectSound(troupe)
  })

  test('a fork of a session has the blobs of long results, under their names', async () => {
    const long = 'x'.repeat(2_500_000)
    const agent = defineWorker({
      instructions: 'x',
      model: recordedModel('test/m', (request) => (hasResults(request) ? say('Done.') : call('fetch'))),
      tools: [tool('fetch', () => long)],
    })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    await session.result({ run: 1 })
    const copy = await session.fork()
    const blobsOf = async (id: string) => {
      const keys = await troupe.redis.keys(`*:s:${id}:blob:*`)
      return Promise.all(keys.map(async (key) => [key.split(':').at(-1), await troupe.redis.get(key)] as const))
    }
    const [own, its] = [await blobsOf(session.id), await blobsOf(copy.id)]
    expect(its.map(([name, text]) => [name, text?.length])).toEqual([
      [expect.stringMatching(/^[0-9a-f]{32}$/), long.length],
    ])
    expect(its).toEqual(own)
    expect(await troupe.redis.hgetall(sessionKeys(troupe.tag, copy.id).blobs)).toEqual(
      await troupe.redis.hgetall(sessionKeys(troupe.tag, session.id).blobs),
    )
    await expectSound(troupe)
  })

  test('a fork of a session with more keys than one script may let appear is refused, and says of what there are so many', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    const session = await troupe.create('asker')
    await isParked(session)
    const names = Array.from({ length: 1_500 }, (_, index) => [index.toString(16).padStart(32, '0'), '1 text/plain'])
    await troupe.redis.hset(sessionKeys(troupe.tag, session.id).blobs, ...names.flat())
    await expect(session.fork()).rejects.toMatchObject({
      code: 'step_too_big',
      message: expect.stringMatching(/has 1 workers, 1 open asks and 1500 blobs, .* a copy has 1500 at most/),
    })
    expect(await troupe.client.sessions.list()).toHaveLength(1)
  })

  test('a fork of an agent that waits for its spawned workers gets their results, and followers of both hear of them', async () => {
    const agent = defineWorker({
      instructions: 'x',
      model: recordedModel('test/m', (request) =>
        hasResults(request)
          ? say(toolTexts(request))
          : call('spawn_workers', {
              tasks: [
                { kind: 'asker', input: 1 },
                { kind: 'asker', input: 2 },
              ],
            }),
      ),
      tools: [],
      spawns: ['asker'],
    })
    await using troupe = await TestTroupe.start({
      workers: { agent, asker: defineWorker({ ...asker, description: 'Asks.' } as never) },
    })
    const session = await troupe.create('agent', 'go')
    const [first] = await openAsks(troupe, 2)
    await troupe.client.asks.answer(first?.id as string, 'one')
    await isParked(session)
    const copy = await session.fork()
    for (const { id, sessionId } of await openAsks(troupe, 2))
      await troupe.client.asks.answer(id, sessionId === copy.id ? 'copied' : 'own')
    expect(JSON.stringify(await resultOf(session))).toMatch(/(one.*own|own.*one)/)
    expect(JSON.stringify(await resultOf(copy))).toMatch(/(one.*copied|copied.*one)/)
    const typesOf = async (one: typeof session) => {
      const found: unknown[] = []
      for await (const { type, details } of one.events({ after: '0' })) {
        if (type === 'session.forked' || type === 'session.created') found.push([type, details])
        if (type === 'session.completed') break
      }
      return found
    }
    expect(await typesOf(session)).toEqual([
      ['session.created', expect.objectContaining({ kind: 'agent' })],
      ['session.forked', { into: copy.id }],
    ])
    expect(await typesOf(copy)).toEqual([
      ['session.created', expect.objectContaining({ kind: 'agent', forkedFrom: session.id })],
    ])
    await expectSound(troupe)
  })

  test('a fork of a paused session is paused too, and each is resumed by itself', async () => {
    await using troupe = await TestTroupe.start({
      workers: { counter: defineWorker({ receive: (_, self) => self.reply(self.run) }) },
    })
    const session = await troupe.create('counter', 1, { keepOpen: true })
    await session.result({ run: 1 })
    await session.pause('look')
    await session.root.send(2)
    const copy = await session.fork()
    expect((await copy.report()).session.paused).toMatchObject({ why: 'look' })
    await copy.resume()
    expect(await copy.result({ run: 2 })).toMatchObject({ value: 2 })
    expect((await session.root.report()).runs).toBe(1)
    await session.resume()
    expect(await session.result({ run: 2 })).toMatchObject({ value: 2 })
    await expectSound(troupe)
  })

  test('a fork of a fork has the same form, and what is sent to ids of the first stays in the last', async () => {
    const root = defineWorker({
      receive: ({ value }, self) => {
        const { to } = value as { to?: string }
        if (to !== undefined) self.send(to, { got: true })
        self.reply(self.run)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { root } })
    const session = await troupe.create('root', {}, { keepOpen: true })
    await session.result({ run: 1 })
    const last = await (await session.fork()).fork()
    await last.root.send({ to: session.rootId })
    expect(await last.result({ run: 3 })).toMatchObject({ value: 3 })
    await session.idle()
    expect((await session.root.report()).runs).toBe(1)
    await expectSound(troupe)
  })

  test.each([
    [{ dryrun: true }, /does not know the option "dryrun"/],
    [{ dryRun: 'yes' }, /dryRun/],
  ])('refuses %j', async (query, message) => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    const session = await troupe.create('asker')
    await expect(session.fork(query as never)).rejects.toThrow(message)
    await session.cancel()
  })

  test('a fork of a session that is over is refused, and the error says what to do instead', async () => {
    await using troupe = await TestTroupe.start({
      workers: { done: defineWorker({ receive: (_, self) => self.reply(1) }) },
    })
    const session = await troupe.create('done')
    await session.result()
    await expect(session.fork()).rejects.toThrow(/is completed: only a session that goes on is forked/)
    await expect(
      troupe.client.sessions.get(`${session.id.slice(0, 9)}0000${session.id.slice(13)}`).fork(),
    ).rejects.toThrow(/session 0\S+ /)
  })
})
