/** Messages that come while an agent is busy: they steer the run in progress, interrupt what it does, or wait for the next run. */
import { describe, expect, test, vi } from 'vitest'
import type { Session } from '../../../../src/client/session/session.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { PromptMessage } from '../../../../src/core/definition/model.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import type { TurnStore } from '../../../../src/core/ports/ports.ts'
import { call, type ScriptedReply, say, together } from '../../../../src/models/local/scripted-model.ts'
import { RedisBlobStore } from '../../../../src/store/blob-store.ts'
import { expectSound, isParked, openAsks, pay, resultOf, tools } from '../../../support/approvals.ts'
import { changedStore } from '../../../support/changed-store.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const instructions = 'Work.'

/** The roles of a prompt, each with the texts in it. */
function shown(messages: readonly PromptMessage[] = []): string[] {
  return messages.map((message) => {
    if (message.role === 'tool')
      return `tool: ${message.results.map(({ output }) => output.value as string).join(' | ')}`
    const texts = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    return `${message.role}: ${texts.join(' | ')}`
  })
}

const isRunning = (session: Session, run: string) =>
  waitUntil(`its run is ${run}`, async () => {
    const report = await session.root.report()
    return report.status === 'running' && report.run === run
  })

/** An agent whose model answers each request by its number, and may wait for a gate before. */
function gated(replies: readonly ScriptedReply[], closed: readonly number[] = []) {
  const gates = new Map(closed.map((number) => [number, Promise.withResolvers<void>()]))
  const model = recordedModel('test/m', async (_request, number) => {
    await gates.get(number)?.promise
    return replies[number - 1] ?? say(`reply ${number}`)
  })
  return { model, open: (number: number) => gates.get(number)?.resolve() }
}

const interrupted = 'This call was interrupted by the message that follows: it did not finish.'
const messageOf = (session: Session, text: string, when: 'queue' | 'steer' | 'interrupt') =>
  session.root.send(text, { when })

describe('a message that steers', () => {
  test('a message that steers comes behind the results of the open calls, before the next model call of the same run', async () => {
    const gate = Promise.withResolvers<string>()
    const wait = defineTool({ name: 'wait', description: 'Waits.', effect: 'idempotent', run: () => gate.promise })
    const { model } = gated([call('wait'), say('Done.')])
    const agent = defineWorker({ instructions, model, tools: [wait] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'ExecutingTools')
    expect(await messageOf(session, 'and be quick', 'steer')).toMatchObject({ position: 1, steers: true })
    expect(await messageOf(session, 'later', 'queue')).toMatchObject({ position: 2, steers: false })
    gate.resolve('waited')
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(shown(model.requests[1]?.messages)).toEqual([
      'user: go',
      'assistant: ',
      'tool: waited',
      'user: and be quick',
    ])
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'reply 3' } })
    expect(shown(model.requests[2]?.messages).at(-1)).toBe('user: later')
    const users = (await troupe.history(session.rootId)).filter(({ type }) => type === 'user')
    expect(users).toMatchObject([{ run: 1 }, { run: 1, when: 'steer' }, { run: 2 }])
    expect(users[2]).not.toHaveProperty('when')
    await expectSound(troupe)
  })

  test('a message that steers is read before the next model call even if only the commit of the results reported it', async () => {
    const gate = Promise.withResolvers<string>()
    const wait = defineTool({ name: 'wait', description: 'Waits.', effect: 'idempotent', run: () => gate.promise })
    const { model } = gated([call('wait'), say('Done.')])
    const aroundTurns = (turns: TurnStore) =>
      changedStore(turns, {
        async renew(requests) {
          const { steered: _, ...answer } = await turns.renew(requests)
          return answer
        },
      })
    const agent = defineWorker({ instructions, model, tools: [wait] })
    await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'ExecutingTools')
    await messageOf(session, 'and be quick', 'steer')
    gate.resolve('waited')
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'Done.' } })
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual(['tool: waited', 'user: and be quick'])
    await expectSound(troupe)
  })

  test('a message that steers is read before the next model call even if it came while a summary was written for that call', async () => {
    const gate = Promise.withResolvers<void>()
    const writing = Promise.withResolvers<void>()
    const writer = recordedModel('test/writer', async () => {
      writing.resolve()
      await gate.promise
      return say('A summary.')
    })
    const look = (inputTokens: number): ScriptedReply => ({ ...call('look'), usage: { inputTokens, outputTokens: 0 } })
    const { model } = gated([look(100), look(200), look(990), say('Done.')])
    const heard = Promise.withResolvers<void>()
    const aroundTurns = (turns: TurnStore) =>
      changedStore(turns, {
        async renew(requests) {
          const answer = await turns.renew(requests)
          if (answer.steered?.size) setImmediate(heard.resolve)
          return answer
        },
      })
    const agent = defineWorker({
      instructions,
      model,
      tools: [defineTool({ name: 'look', description: 'Looks.', effect: 'idempotent', run: () => 'nothing' })],
      compaction: { window: 1_000, keep: 2, model: writer, clearResults: false },
    })
    await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
    const session = await troupe.create('agent', 'go')
    await writing.promise
    await messageOf(session, 'and be quick', 'steer')
    await heard.promise
    gate.resolve()
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'Done.' } })
    expect(model.requests).toHaveLength(4)
    expect(shown(model.requests[3]?.messages).at(-1)).toBe('user: and be quick')
    await expectSound(troupe)
  })

  test.each(['An answer.', ''])(
    'a message that comes while the model writes its last reply, "%s", lets the run go on in place of its end',
    async (last) => {
      const { model, open } = gated([say(last), say('A better one.')], [1])
      const heard = Promise.withResolvers<void>()
      const aroundTurns = (turns: TurnStore) =>
        changedStore(turns, {
          async renew(requests) {
            const answer = await turns.renew(requests)
            for (const steers of answer.steered?.values() ?? []) if (steers.length === 2) setImmediate(heard.resolve)
            return answer
          },
        })
      const agent = defineWorker({ instructions, model, limits: { blankStops: 1 } })
      await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
      const session = await troupe.create('agent', 'go')
      await isRunning(session, 'AwaitingLLMResponse')
      await messageOf(session, 'shorter', 'steer')
      await messageOf(session, 'much', 'steer')
      await heard.promise
      open(1)
      expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'A better one.' } })
      const said =
        last === '' ? ['user: go | shorter | much'] : ['user: go', `assistant: ${last}`, 'user: shorter | much']
      expect(shown(model.requests[1]?.messages)).toEqual(said)
      await expectSound(troupe)
    },
  )

  test('a message that steers is received once, in its run, even if the node of the run is gone', async () => {
    const { model } = gated([call('wait', {}, 'w'), say('Done.')])
    let runs = 0
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      effect: 'idempotent',
      run: (_, { signal }) =>
        ++runs > 1
          ? 'waited'
          : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    const agent = defineWorker({ instructions, model, tools: [wait] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'ExecutingTools')
    await messageOf(session, 'and be quick', 'steer')
    await troupe.nodes[0]?.stop({ force: true })
    await troupe.startNode({ agent })
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1 })
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual(['tool: waited', 'user: and be quick'])
    expect((await troupe.history(session.rootId)).filter(({ type }) => type === 'user')).toHaveLength(2)
    await expectSound(troupe)
  })

  test('a message that steers begins a run if none is in progress', async () => {
    const { model } = gated([])
    await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions, model }) } })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    await resultOf(session)
    await waitUntil('it rests', async () => (await session.root.report()).status === 'idle')
    expect(await messageOf(session, 'more', 'steer')).toMatchObject({ steers: false })
    expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'reply 2' } })
    await expectSound(troupe)
  })

  test('a message that steers waits until an agent that waits for a person has its answer', async () => {
    const made = tools()
    const { model } = gated([pay(5), say('Done.')])
    const agent = defineWorker({ instructions, model, tools: made.tools })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    const [ask] = await openAsks(troupe)
    await isParked(session)
    await messageOf(session, 'thanks', 'steer')
    await isParked(session)
    expect(model.requests).toHaveLength(1)
    await troupe.client.asks.answer(ask?.id as string, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual(['tool: paid 5', 'user: thanks'])
    await expectSound(troupe)
  })
})

describe('a message that interrupts', () => {
  test('a message that interrupts ends the model call, and the model reads the message next [1.49]', async () => {
    const { model } = gated([say('never'), say('Other.')], [1])
    await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions, model }) } })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'AwaitingLLMResponse')
    await messageOf(session, 'stop, do the other', 'interrupt')
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: { text: 'Other.' } })
    expect(shown(model.requests[1]?.messages)).toEqual(['user: go | stop, do the other'])
    expect(model.requests[1]?.idempotencyKey).not.toBe(model.requests[0]?.idempotencyKey)
    await expectSound(troupe)
  })

  test('a message that interrupts is read before a request whose images are being fetched', async () => {
    const { model } = gated([say('Hello.'), say('Other.')])
    const reading = Promise.withResolvers<void>()
    const heard = Promise.withResolvers<void>()
    const image = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), Buffer.alloc(1_500_000)])
    using _ = vi.spyOn(RedisBlobStore.prototype, 'read').mockImplementation(async () => {
      reading.resolve()
      await heard.promise
      return image
    })
    const aroundTurns = (turns: TurnStore) =>
      changedStore(turns, {
        async renew(requests) {
          const answer = await turns.renew(requests)
          if (answer.steered?.size) setImmediate(heard.resolve)
          return answer
        },
      })
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions, model }) },
      aroundTurns,
    })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    await session.result({ run: 1 })
    await session.root.send([
      { type: 'text', text: 'look' },
      { type: 'image', data: new Uint8Array(image) },
    ])
    await reading.promise
    await messageOf(session, 'do not look', 'interrupt')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'Other.' } })
    expect(model.requests).toHaveLength(2)
    expect(shown(model.requests[1]?.messages).at(-1)).toBe('user: look | do not look')
    await expectSound(troupe)
  })

  test('a message that interrupts ends running tools, answers each open call once, and leaves no call without a result [1.49]', async () => {
    const ledger: string[] = []
    const long = (name: string, effect: 'idempotent' | 'once') =>
      defineTool({
        name,
        description: 'Runs until it is stopped.',
        effect,
        approval: 'never',
        run: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              ledger.push(name)
              reject(signal.reason as Error)
            })
          }),
      })
    const { model } = gated([together(call('long', {}, 'a'), call('charge', {}, 'b')), say('Done.')])
    const agent = defineWorker({ instructions, model, tools: [long('long', 'idempotent'), long('charge', 'once')] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'ExecutingTools')
    await waitUntil('both run', async () =>
      (await troupe.history(session.rootId)).some(({ type }) => type === 'toolStarted'),
    )
    await messageOf(session, 'stop', 'interrupt')
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(ledger.toSorted()).toEqual(['charge', 'long'])
    const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(results).toMatchObject([
      { toolCallId: 'a', status: 'cancelled', output: { value: interrupted } },
      { toolCallId: 'b', status: 'unknown' },
    ])
    expect(shown(model.requests[1]?.messages).at(-1)).toBe('user: stop')
    await expectSound(troupe)
  })

  test.each(['toolStarted', 'subCallStarted'])(
    'a message that interrupts while %s of a once call is recorded keeps that call from running',
    async (type) => {
      let ran = 0
      const charge = defineTool({
        name: 'charge',
        description: 'Charges.',
        effect: 'once',
        approval: 'never',
        run: () => `charged ${++ran}`,
      })
      const recipe = defineTool({
        name: 'recipe',
        description: 'Charges.',
        recipe: () => ({ serial: [{ tool: 'charge' }] }),
      })
      const { model } = gated([call(type === 'toolStarted' ? 'charge' : 'recipe', {}, 'c'), say('Done.')])
      const agent = defineWorker({ instructions, model, tools: [charge, recipe] })
      const created = Promise.withResolvers<Session>()
      const aroundTurns = (turns: TurnStore) =>
        changedStore(turns, {
          async commit(request) {
            if (request.entries.some((entry) => entry.includes(`"type":"${type}"`)))
              await messageOf(await created.promise, 'stop', 'interrupt')
            return turns.commit(request)
          },
        })
      await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
      const session = await troupe.create('agent', 'go')
      created.resolve(session)
      expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'Done.' } })
      expect(ran).toBe(0)
      const results = (await troupe.history(session.rootId)).filter(({ type: one }) => one === 'toolResult')
      expect(results).toMatchObject([{ toolCallId: 'c', status: 'cancelled', output: { value: interrupted } }])
      await expectSound(troupe)
    },
  )

  test('a message that interrupts leaves the outcome of a call unknown that its tool is just asked about, and the run goes on', async () => {
    const [begun, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const hangs = new Promise<never>(() => {})
    const charge = defineTool({
      name: 'charge',
      description: 'Charges.',
      effect: 'once',
      approval: 'never',
      run() {
        begun.resolve()
        return hangs
      },
      reconcile() {
        asked.resolve()
        return hangs
      },
    })
    const { model } = gated([call('charge', {}, 'c'), say('Done.')])
    const agent = defineWorker({ instructions, model, tools: [charge] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await begun.promise
    await troupe.nodes[0]?.stop({ force: true })
    await troupe.startNode({ agent })
    await asked.promise
    await messageOf(session, 'stop', 'interrupt')
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'Done.' } })
    const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(results).toMatchObject([{ toolCallId: 'c', status: 'unknown' }])
    await expectSound(troupe)
  })

  test('a message that interrupts ends the wait for children: they are cancelled, the run goes on, and can spawn again', async () => {
    const child = defineWorker({
      receive: (message, self) =>
        message.kind === 'input' && message.value === 'quick' ? self.reply('here') : self.after(600_000, null),
    })
    const spawn = (input: string) => call('spawn_workers', { tasks: [{ kind: 'child', input }] })
    const { model } = gated([spawn('slow'), spawn('quick'), say('Done.')])
    const agent = defineWorker({ instructions, model, spawns: ['child'] })
    await using troupe = await TestTroupe.start({ workers: { agent, child } })
    const session = await troupe.create('agent', 'go')
    await isParked(session)
    await messageOf(session, 'never mind', 'interrupt')
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual([`tool: ${interrupted}`, 'user: never mind'])
    await waitUntil('the first child is cancelled', async () => {
      const { workers } = await session.report()
      return workers[1]?.status === 'terminal'
    })
    await expectSound(troupe)
  })

  test('a message that interrupts makes room for other children: the results of the cancelled ones are taken, though no call waits for them', async () => {
    const child = defineWorker({
      receive: (message, self) =>
        message.kind === 'input' && message.value === 'quick' ? self.reply('here') : self.after(600_000, null),
    })
    const spawn = (input: string) => call('spawn_workers', { tasks: [{ kind: 'child', input }] })
    let isGone = false
    const model = recordedModel('test/m', async ({ messages }, number) => {
      if (number === 1) return spawn('slow')
      await waitUntil('the first child is cancelled', () => isGone)
      return JSON.stringify(messages.at(-1)).includes('here') ? say('Done.') : spawn('quick')
    })
    const agent = defineWorker({ instructions, model, spawns: ['child'], limits: { children: 1, iterations: 8 } })
    await using troupe = await TestTroupe.start({ workers: { agent, child }, policy: { turnSliceSteps: 1 } })
    const session = await troupe.create('agent', 'go')
    await isParked(session)
    await messageOf(session, 'never mind', 'interrupt')
    await waitUntil('the first child is cancelled', async () => {
      const { workers } = await session.report()
      return workers[1]?.status === 'terminal'
    })
    isGone = true
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    await expectSound(troupe)
  })

  test('a message that interrupts ends the wait for an approval: the ask is withdrawn, and the call does not run', async () => {
    const made = tools()
    const { model } = gated([pay(5), say('Done.')])
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions, model, tools: made.tools }) },
    })
    const session = await troupe.create('agent', 'go')
    const [ask] = await openAsks(troupe)
    await isParked(session)
    await messageOf(session, 'do not pay', 'interrupt')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    await expect(troupe.client.asks.answer(ask?.id as string, 'approve')).rejects.toMatchObject({
      code: 'ask_withdrawn',
    })
    expect(made.ledger).toEqual([])
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual([`tool: ${interrupted}`, 'user: do not pay'])
    await expectSound(troupe)
  })
  test.each([
    ['an approval', pay(5)],
    ['an answer', call('ask_person', { question: 'How much?' })],
  ])('a message that interrupts withdraws the ask for %s at once, while the run goes on', async (_what, first) => {
    const made = tools()
    const { model, open } = gated([first, say('Done.')], [2])
    const agent = defineWorker({ instructions, model, tools: made.tools, asks: true })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    const [ask] = await openAsks(troupe)
    await isParked(session)
    await messageOf(session, 'never mind', 'interrupt')
    await waitUntil('the model is asked again', () => model.requests.length === 2)
    await expect(troupe.client.asks.answer(ask?.id as string, 'approve')).rejects.toMatchObject({
      code: 'ask_withdrawn',
    })
    expect(await session.asks()).toEqual([])
    open(2)
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1 })
    await expectSound(troupe)
  })
})
