/** Messages that interrupt what an agent does: its run reads them next. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Session } from '../../../../src/client/session/session.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../../src/core/errors.ts'
import type { CommitRequest, TurnStore } from '../../../../src/core/ports/ports.ts'
import { call, say, together } from '../../../../src/models/local/scripted-model.ts'
import { RedisBlobStore } from '../../../../src/store/blob-store.ts'
import { changedStore } from '../../../support/changed-store.ts'
import { auditLines } from '../../../support/fault/oracle.ts'
import { expectSound, isParked, openAsks, pay, resultOf, tools } from '../../../support/person/approvals.ts'
import { notedSteers } from '../../../support/person/noted-steers.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitIdle, awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { gated, interrupted, isRunning, messageOf, shown } from '../support/steered-agent.ts'

const instructions = 'Work.'

/** It answers at once, or waits for ten minutes. */
const child = defineWorker({
  receive: (message, self) =>
    message.kind === 'input' && message.value === 'quick' ? self.reply('here') : self.after(600_000, null),
})
const spawn = (input: string) => call('spawn_workers', { tasks: [{ kind: 'child', input }] })
/** A message that interrupts comes while this commit is on its way. */
const interruptingCommit = (session: Promise<Session>, is: (request: CommitRequest) => boolean) => (turns: TurnStore) =>
  changedStore(turns, {
    async commit(request) {
      if (is(request)) await messageOf(await session, 'stop', 'interrupt')
      return turns.commit(request)
    },
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
    const { noted, aroundTurns } = notedSteers()
    const image = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), Buffer.alloc(1_500_000)])
    using _ = vi.spyOn(RedisBlobStore.prototype, 'read').mockImplementation(async () => {
      reading.resolve()
      await noted
      return image
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

  test('a message that interrupts is read before one that waits, and the audit finds nothing amiss meanwhile', async () => {
    const { model, open } = gated([say('never'), say('Other.')], [1, 2])
    await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions, model }) } })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    await isRunning(session, 'AwaitingLLMResponse')
    await messageOf(session, 'later', 'queue')
    await messageOf(session, 'now', 'interrupt')
    await waitUntil('the interrupt is read', async () => model.requests.length === 2)
    expect(shown(model.requests[1]?.messages)).toEqual(['user: go | now'])
    expect(await auditLines(troupe.redis, troupe.namespace)).toEqual([])
    open(2)
    await session.result({ run: 2 })
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

  test.each([
    { type: 'toolStarted', message: 'stop', does: 'keeps that call from running' },
    { type: 'subCallStarted', message: 'stop', does: 'keeps that call from running' },
    { type: 'toolStarted', message: '', does: 'does not, if it does not fit the kind (TURN-STEERS-2)' },
    { type: 'subCallStarted', message: '', does: 'does not, if it does not fit the kind (TURN-STEERS-2)' },
  ])('a message that interrupts while $type of a once call is recorded $does', async ({ type, message }) => {
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
            await messageOf(await created.promise, message, 'interrupt')
          return turns.commit(request)
        },
      })
    await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    created.resolve(session)
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(ran).toBe(message === '' ? 1 : 0)
    const results = (await troupe.history(session.rootId)).filter(({ type: one }) => one === 'toolResult')
    const cancelled = { status: 'cancelled', output: { value: interrupted } }
    expect(results).toMatchObject([{ toolCallId: 'c', ...(message === '' ? { status: 'ok' } : cancelled) }])
    await expectSound(troupe)
  })

  const fitting = { task: 'go' }
  test.each([
    { how: 'ends', input: z.object({ task: z.string() }), unfit: 'stop' },
    { how: 'fails for a while', input: z.object({ task: z.string() }), unfit: 'stop' },
    { how: 'ends, of a kind without a schema', unfit: '' },
  ])(
    'a message that does not fit the kind interrupts no call in progress, also if that $how (TURN-STEERS-2)',
    async ({ how, unfit, ...kind }) => {
      const [begun, gate, judged] = [0, 1, 2].map(() => Promise.withResolvers<void>())
      let ran = 0
      const charge = defineTool({
        name: 'charge',
        description: 'Charges.',
        effect: 'once',
        approval: 'never',
        async run(_, { signal }) {
          ran++
          begun?.resolve()
          await gate?.promise
          signal.throwIfAborted()
          if (how === 'fails for a while' && ran === 1) throw new TransientError('not now', { retryAfterMs: 1 })
          return 'charged'
        },
      })
      const aroundTurns = (turns: TurnStore) =>
        changedStore(turns, {
          async readInputs(worker, positions) {
            const inputs = await turns.readInputs(worker, positions)
            setImmediate(() => judged?.resolve())
            return inputs
          },
        })
      const { model } = gated([call('charge', {}, 'c'), say('Done.')])
      const agent = defineWorker({ instructions, model, tools: [charge], ...kind })
      await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
      const session = await troupe.create('agent', fitting, { keepOpen: true })
      await begun?.promise
      await messageOf(session, unfit, 'interrupt')
      await judged?.promise
      gate?.resolve()
      expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
      expect(await session.result({ run: 2 })).toMatchObject({ status: 'failed', failure: { code: 'input_invalid' } })
      const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
      expect(results).toMatchObject([{ toolCallId: 'c', status: 'ok', output: { value: 'charged' } }])
      await expectSound(troupe)
    },
  )

  test('a message that does not fit the kind, and comes while a call starts a child, keeps no call behind it waiting (TURN-STEERS-2)', async () => {
    const [created, looked] = [Promise.withResolvers<Session>(), Promise.withResolvers<void>()]
    const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => looked.resolve() })
    const spawn = call('spawn_workers', { tasks: [{ kind: 'child', input: 'go' }] }, 's')
    const { model } = gated([together(spawn, call('look', {}, 'l')), say('Done.')])
    const child = defineWorker({
      async receive(_message, self) {
        await looked.promise
        self.reply('here')
      },
    })
    const kind = { instructions, model, spawns: ['child'], input: z.object({ task: z.string() }) }
    const agent = defineWorker({ ...kind, tools: [look] })
    const aroundTurns = interruptingCommit(created.promise, ({ spawns }) => spawns.length > 0)
    await using troupe = await TestTroupe.start({ workers: { agent, child }, aroundTurns })
    const session = await troupe.create('agent', fitting, { keepOpen: true })
    created.resolve(session)
    expect(await awaitResult(session, { run: 1 })).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(await awaitResult(session, { run: 2 })).toMatchObject({ failure: { code: 'input_invalid' } })
    await expectSound(troupe)
  })

  test('a message that interrupts while a call sends a message, or starts a child, keeps the calls behind it from beginning', async () => {
    const created = Promise.withResolvers<Session>()
    const spawn = call('spawn_workers', { tasks: [{ kind: 'child', input: 'go', detached: true }] }, 's')
    const ask = call('ask_person', { question: 'May I?' }, 'q')
    const model = recordedModel('test/m', async (_request, number) => {
      const to = (await created.promise).rootId
      return number === 1 ? together(call('send_message', { to, text: 'a' }, 'm'), spawn, ask) : say('Done.')
    })
    const child = defineWorker({ receive: (_message, self) => self.reply('here') })
    const agent = defineWorker({ instructions, model, spawns: ['child'], asks: true })
    const aroundTurns = interruptingCommit(created.promise, ({ sends }) => sends.length > 0)
    await using troupe = await TestTroupe.start({ workers: { agent, child }, aroundTurns })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    created.resolve(session)
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    const history = await troupe.history(session.rootId)
    expect(history.filter(({ type }) => type === 'delegated' || type === 'asked')).toEqual([])
    expect(history.filter(({ type }) => type === 'toolResult')).toMatchObject([
      { toolCallId: 'm', status: 'ok' },
      { toolCallId: 's', status: 'cancelled', output: { value: interrupted } },
      { toolCallId: 'q', status: 'cancelled', output: { value: interrupted } },
    ])
    await awaitIdle(session)
    await expectSound(troupe)
  })

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

  test('a message that interrupts ends the wait for children at once, also while a summary is being written', async () => {
    const begun = Promise.withResolvers<void>()
    const writer = recordedModel('test/writer', () => new Promise<never>(() => {}))
    const look = (inputTokens: number) => ({ ...call('look'), usage: { inputTokens, outputTokens: 0 } })
    const { model } = gated([look(100), look(200), look(900), spawn('slow'), say('Done.')])
    const slow = defineWorker({
      receive(_message, self) {
        begun.resolve()
        self.after(600_000, null)
      },
    })
    const compaction = { window: 1_000, keep: 2, model: writer, clearResults: false }
    const agent = defineWorker({ instructions, model, tools: tools().tools, spawns: ['child'], compaction })
    await using troupe = await TestTroupe.start({ workers: { agent, child: slow } })
    const session = await troupe.create('agent', 'go')
    await begun.promise
    await messageOf(session, 'never mind', 'interrupt')
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(writer.requests).toHaveLength(1)
    await expectSound(troupe)
  })

  test('a message that interrupts makes room for other children: the results of the cancelled ones are taken, though no call waits for them', async () => {
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
