/** `testHandler` and `testAgent`: what a worker asks for, without processes and without Redis. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import type { ToolResultMessage } from '../../src/core/history/chat/chat-message.ts'
import { call, say, type TestAnswers, testAgent, testHandler, together } from '../../src/testing/index.ts'

const counter = defineWorker({
  input: z.coerce.number().int().min(0),
  initial: { at: 0, to: 0 },
  receive(message, self) {
    const { at, to } =
      message.kind === 'input' ? { at: 0, to: message.value } : { at: self.state.at + 1, to: self.state.to }
    self.log.info(`${at} of ${to}`)
    if (at === to) return self.reply(`counted to ${to}`)
    self.setState({ at, to })
    self.after(1_000, null)
  },
})

const boss = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') {
      self.spawn('reader', { page: 1 }, { name: 'first' })
      self.spawn('reader', { page: 2 })
      self.spawn('logger', 'begun', { detached: true })
    } else if (message.kind === 'result' && message.status === 'failed') self.fail(message.failure.message)
    else if (self.openChildren === 0) self.reply(message.value)
  },
})

describe('testHandler', () => {
  test('testHandler shows timers, state and log of a run that waits', async () => {
    expect(await testHandler(counter, { message: { kind: 'input', value: '2' } })).toMatchObject({
      status: 'waits',
      reply: undefined,
      failure: null,
      state: { at: 0, to: 2 },
      timers: [{ ms: 1_000, value: null }],
      log: [{ level: 'info', message: '0 of 2' }],
      history: [{ type: 'received' }],
    })
  })

  test('testHandler begins with the state and the message of the test', async () => {
    const state = { at: 1, to: 2 }
    const run = await testHandler(counter, { message: { kind: 'timer' }, state })
    expect(run).toMatchObject({ status: 'completed', reply: 'counted to 2', state, timers: [] })
    const silent = defineWorker({ initial: { at: 7 }, receive: (_, self) => self.reply(null) })
    expect((await testHandler(silent)).state).toEqual({ at: 7 })
    expect(await testHandler(counter, { message: { kind: 'timer' }, state: { at: 0, to: 9 } })).toMatchObject({
      status: 'waits',
      state: { at: 1, to: 9 },
    })
  })

  test('a definition that says its kind is tested under that kind', async () => {
    const named = defineWorker({ kind: 'clerk', receive: (_, self) => self.reply([self.kind, self.name]) })
    expect((await testHandler(named)).reply).toEqual(['clerk', 'clerk'])
    const agent = defineWorker({ kind: 'clerk', instructions: 'You say hello.' })
    expect(await testAgent(agent, { input: 'hi', replies: [say('hello')] })).toMatchObject({ reply: { text: 'hello' } })
    await expect(testHandler(named, { kind: 'other' })).rejects.toThrow('kind "other" is defined with kind: "clerk"')
  })

  test('testHandler shows spawns and sends with their values', async () => {
    const sends = defineWorker({
      receive(message, self) {
        self.send(message.value as string, { n: 1 })
        self.reply(null)
      },
    })
    const { spawns, status } = await testHandler(boss)
    expect(status).toBe('waits')
    expect(spawns).toMatchObject([
      { kind: 'reader', name: 'first', input: { page: 1 }, detached: false },
      { kind: 'reader', input: { page: 2 }, detached: false },
      { kind: 'logger', input: 'begun', detached: true },
    ])
    const to = spawns[0]?.id as string
    const answers = defineWorker({
      receive: (message, self) => self.reply([message.kind === 'input' && message.from, self.name]),
    })
    const from = { kind: 'input', from: to } as const
    expect((await testHandler(answers, { message: from, kind: 'clerk' })).reply).toEqual([to, 'clerk'])
    expect(await testHandler(sends, { message: { kind: 'input', value: to } })).toMatchObject({
      status: 'completed',
      reply: null,
      sends: [{ to, value: { n: 1 } }],
    })
  })

  test('testHandler receives a result, of the last child or of one of several, even of one that failed', async () => {
    const message = { kind: 'result', value: 'page' } as const
    expect(await testHandler(boss, { message })).toMatchObject({ status: 'completed', reply: 'page' })
    expect(await testHandler(boss, { message, openChildren: 1 })).toMatchObject({ status: 'waits' })
    const failed = { kind: 'result', error: new Error('no such page') } as const
    expect(await testHandler(boss, { message: failed })).toMatchObject({
      status: 'failed',
      failure: { code: 'run_failed', message: 'no such page' },
    })
  })

  test('testHandler with children that answer goes on to the end of the run', async () => {
    const children = { reader: async (input: unknown) => Promise.resolve(`read ${JSON.stringify(input)}`) }
    expect(await testHandler(boss, { children })).toMatchObject({ status: 'completed', reply: 'read {"page":2}' })
    // Nobody waits for a detached child.
    const read: unknown[] = []
    const patient = defineWorker({
      receive(message, self) {
        if (message.kind === 'result') read.push(message.name)
        else {
          self.spawn('logger', 'begun', { detached: true })
          for (const name of ['a', 'b']) self.spawn('reader', name, { name })
        }
        if (read.length === 2) self.reply(read)
      },
    })
    const told: unknown[] = []
    const logger = (input: unknown) => told.push(input)
    expect((await testHandler(patient, { children: { ...children, logger } })).reply).toEqual(['a', 'b'])
    expect(told).toEqual([])
    const twice = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.spawn('reader', 1)
        else if (message.value === 'read 1') self.spawn('reader', 2)
        else self.reply(message.value)
      },
    })
    const { reply, spawns } = await testHandler(twice, { children })
    expect([reply, new Set(spawns.map(({ id }) => id)).size]).toEqual(['read 2', 2])
    const broken = {
      reader() {
        throw new Error('torn')
      },
    }
    expect(await testHandler(boss, { children: broken })).toMatchObject({
      status: 'failed',
      failure: { message: 'torn' },
    })
    expect(await testHandler(boss, { children: {} })).toMatchObject({
      status: 'failed',
      failure: { message: 'children names no kind "reader", which was spawned.' },
    })
  })

  test('testHandler tells an attempt that would be retried from a run that fails, as a node would', async () => {
    const broken = defineWorker({
      retries: 1,
      receive(message, self) {
        throw new Error(`attempt ${self.attempt} of ${message.kind}`)
      },
    })
    expect(await testHandler(broken)).toMatchObject({ status: 'retries', failure: { message: 'attempt 1 of input' } })
    for (const kind of ['input', 'timer', 'answer', 'result'] as const)
      expect(await testHandler(broken, { message: { kind }, attempt: 2 })).toMatchObject({
        status: 'failed',
        failure: { message: `attempt 2 of ${kind}` },
      })
    expect(await testHandler(counter, { message: { kind: 'input', value: 'x' } })).toMatchObject({
      status: 'failed',
      failure: { code: 'input_invalid' },
    })
  })

  test('testHandler knows the steps that the run has recorded, and shows those that it records', async () => {
    const buyer = defineWorker({
      async receive(_, self) {
        const charge = await self.step('charge', () => 'c1')
        self.reply([charge, await self.step('mail', () => 'm1')])
      },
    })
    expect(await testHandler(buyer)).toMatchObject({
      reply: ['c1', 'm1'],
      steps: [
        { name: 'charge', value: 'c1' },
        { name: 'mail', value: 'm1' },
      ],
    })
    expect(await testHandler(buyer, { steps: { charge: 'c0' } })).toMatchObject({ reply: ['c0', 'm1'] })
  })

  test('testHandler shows asks, and receives an answer, even of an ask that expired', async () => {
    const asker = defineWorker({
      receive(message, self) {
        if (message.kind === 'answer') return self.reply(message)
        self.ask('Ship it?', { options: ['yes', 'no'], expiresMs: 1_000, onExpiry: 'fail' })
        self.ask({ signal: 'paid' })
      },
    })
    const { asks, status } = await testHandler(asker)
    expect({ asks, status }).toMatchObject({
      status: 'waits',
      asks: [
        { kind: 'question', question: 'Ship it?', options: ['yes', 'no'], expiresMs: 1_000, onExpiry: 'fail' },
        { kind: 'signal', question: 'paid', options: null, schema: null, expiresMs: null, onExpiry: null },
      ],
    })
    const message = { kind: 'answer', value: 'yes', by: 'ada', id: String(asks[1]?.id) } as const
    const answer = { kind: 'answer', status: 'answered', value: 'yes', by: 'ada', reason: null, id: asks[1]?.id }
    expect(await testHandler(asker, { message })).toMatchObject({ status: 'completed', reply: answer })
    expect(await testHandler(asker, { message: { kind: 'answer', status: 'expired' } })).toMatchObject({
      status: 'completed',
      reply: { status: 'expired', value: null },
    })
  })

  test('testHandler with answers goes on to the end of the run, and refuses an answer that does not fit', async () => {
    const asker = defineWorker({
      initial: [] as unknown[],
      receive(message, self) {
        if (message.kind === 'input') self.ask('First?', { options: ['yes', 'no'] })
        else if (self.state.length === 0) self.ask('Second?', { schema: z.number() })
        else return self.reply([...self.state, message.value])
        if (message.kind === 'answer') self.setState([message.value])
      },
    })
    const answers = ({ question }: { question: string }) => (question === 'First?' ? 'yes' : 2)
    expect(await testHandler(asker, { answers })).toMatchObject({ status: 'completed', reply: ['yes', 2] })
    await expect(testHandler(asker, { answers: () => 'perhaps' })).rejects.toThrow(
      'the answer of the test to "First?" must be one of: yes, no.',
    )
  })

  test('testHandler has the limits and permissions of the test', async () => {
    expect(await testHandler(boss, { limits: { children: 1 } })).toMatchObject({
      status: 'failed',
      failure: { code: 'children_exceeded' },
    })
    expect(await testHandler(boss, { permissions: { kinds: ['logger'] } })).toMatchObject({
      failure: { code: 'permission_exceeded' },
    })
  })
})

describe('testAgent', () => {
  const asked: unknown[] = []
  const lookUp = defineTool({
    name: 'look_up',
    description: 'Looks up a price.',
    effect: 'pure',
    input: z.object({ article: z.string() }),
    run({ article }) {
      asked.push(article)
      return { cents: 320 }
    },
  })
  const clerk = defineWorker({ instructions: 'Sell.', tools: [lookUp], spawns: ['helper'] })

  test('testAgent runs its tools on scripted replies, and shows reply and history', async () => {
    const replies = [call('look_up', { article: 'tea' }), say('320 cents')]
    const run = await testAgent(clerk, { input: 'How much is the tea?', replies })
    expect(run).toMatchObject({ status: 'completed', reply: { text: '320 cents' }, failure: null })
    expect(asked).toEqual(['tea'])
    expect(run.history.map(({ type }) => type)).toEqual(['user', 'assistant', 'toolResult', 'assistant', 'completed'])
  })

  test('testAgent spawns children, and goes on with their answers', async () => {
    const spawn = call('spawn_workers', { tasks: [{ kind: 'helper', input: 'sort' }] })
    const waiting = await testAgent(clerk, { input: 'x', replies: [spawn] })
    expect(waiting).toMatchObject({ status: 'waits', spawns: [{ kind: 'helper', input: 'sort' }] })
    const children = { helper: (input: unknown) => `done: ${String(input)}` }
    const run = await testAgent(clerk, { input: 'x', replies: [spawn, say('all done')], children })
    expect(run).toMatchObject({ status: 'completed', reply: { text: 'all done' } })
    expect(JSON.stringify(run.history)).toContain('done: sort')
  })

  test('testAgent asks for the approval of a call, which runs as it was approved', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'p',
      effect: 'once',
      input: z.object({ n: z.number() }),
      run: ({ n }) => n,
    })
    const payer = defineWorker({ instructions: 'x', tools: [pay] })
    const paid = async (answer: unknown) => {
      const asked: string[] = []
      const answers: TestAnswers = ({ kind }) => {
        asked.push(kind)
        if (asked.length > 1) throw new Error('asked again')
        return answer
      }
      const { history } = await testAgent(payer, { input: 'x', replies: [call('pay', { n: 1 }), say('done')], answers })
      const result = history.find(({ type }) => type === 'toolResult') as ToolResultMessage
      expect(asked).toEqual(['approval'])
      return [result.status, result.output.value]
    }
    expect(await paid('approve')).toEqual(['ok', 1])
    expect(await paid({ decision: 'approve', arguments: { n: 2 } })).toEqual([
      'ok',
      expect.stringMatching(/with: \{"n":2\}\n2$/),
    ])
    expect(await paid('deny')).toEqual(['error', expect.stringContaining('a test denied this call')])
    await expect(paid('perhaps')).rejects.toThrow('does not fit')
  })

  test('testAgent asks a person, and goes on with the answers', async () => {
    const polite = defineWorker({ instructions: 'Ask.', asks: true })
    const asks = together(
      call('ask_person', { question: 'First?' }, 'a'),
      call('ask_person', { question: 'Second?' }, 'b'),
    )
    expect(await testAgent(polite, { input: 'x', replies: [asks] })).toMatchObject({
      status: 'waits',
      asks: [{ kind: 'question', question: 'First?' }, { question: 'Second?' }],
    })
    const answers = ({ question }: { question: string }) => `to ${question}`
    const run = await testAgent(polite, { input: 'x', replies: [asks, say('done')], answers })
    expect(run).toMatchObject({ status: 'completed', reply: { text: 'done' } })
    const results = run.history.flatMap((entry) => (entry.type === 'toolResult' ? [entry.output.value] : []))
    expect(results).toEqual(['a test answered: to First?', 'a test answered: to Second?'])
  })

  test('testAgent fails with the name of what its model or script lacks', async () => {
    expect(await testAgent(clerk, { input: 'x', replies: [] })).toMatchObject({
      status: 'failed',
      failure: { message: expect.stringContaining('has 0 replies, but it was asked for number 1') as string },
    })
    const unknown = together(say('hm'), call('no_tool'))
    expect(await testAgent(clerk, { input: 'x', replies: [unknown, say('then not')] })).toMatchObject({
      status: 'completed',
      reply: { text: 'then not' },
    })
  })
})

test('testHandler and testAgent each refuse a worker of the other type', async () => {
  const agent = defineWorker({ instructions: 'Be.' })
  await expect(testHandler(agent as never)).rejects.toThrow('testHandler takes a handler')
  await expect(testAgent(counter as never, { replies: [] })).rejects.toThrow('testAgent takes an agent')
})
