/** A `once` call that was started and has no result, in the same turn and in the next one (LOCAL-2). */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool, type ToolDefinition } from '../../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../../../src/core/errors.ts'
import { call, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { awaitResult } from '../../../../support/time/await-session.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

type Reconcile = NonNullable<ToolDefinition<unknown>['reconcile']>

interface Case {
  readonly reconcile?: Reconcile
  readonly onUnknown?: 'fail' | 'tell'
  /** The status of the call in the history, when its own turn goes on and when another takes over. */
  readonly status: readonly [sameTurn: string, nextTurn: string]
  /** What `reconcile` sets. */
  readonly facts?: Record<string, string>
  /** A part of the failure's message; absent if the run goes on. */
  readonly fails?: string
  /** How often it is run when another turn takes over. */
  readonly runs: number
}

const unknown = ['unknown', 'unknown'] as const
const cases: readonly [string, Case][] = [
  ['that nobody can ask about', { status: unknown, fails: 'tool "pay" has no reconcile function', runs: 1 }],
  ['that nobody can ask about, where the model is to be told', { onUnknown: 'tell', status: unknown, runs: 1 }],
  [
    'that took effect, with what it set',
    {
      reconcile: async (_input, { setFact }) => {
        setFact('receipt', 'r1')
        return { done: true, output: 'paid' }
      },
      facts: { receipt: 'r1' },
      status: ['ok', 'ok'],
      runs: 1,
    },
  ],
  // The model may ask for the call again; the node that takes over runs it.
  ['that took no effect', { reconcile: async () => ({ done: false }), status: ['error', 'ok'], runs: 2 }],
  [
    'of which even its author knows nothing',
    {
      reconcile: () => Promise.reject(new Error('the bank is closed')),
      status: unknown,
      fails: 'bank is closed',
      runs: 1,
    },
  ],
]

/** An agent with a `once` tool that pays; the tool hangs when it first runs. */
function payer({ reconcile, onUnknown = 'fail' }: Case, timeoutMs: number, folder?: () => string) {
  const [begun, hangs] = [Promise.withResolvers<void>(), new Promise<never>(() => {})]
  const counted = { runs: 0 }
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    effect: 'once',
    approval: 'never',
    timeoutMs,
    ...(reconcile && { reconcile }),
    run() {
      begun.resolve()
      return ++counted.runs === 1 ? hangs : 'paid'
    },
  })
  const model = recordedModel('test/payer', [call('pay', {}, 'c1'), say('done')])
  const workers = {
    payer: defineWorker({ instructions: 'x', model, tools: [pay], onUnknown, ...(folder && { folder }) }),
  }
  return { begun: begun.promise, counted, model, workers }
}

async function expectEnd(troupe: TestTroupe, id: string, one: Case, status: string | undefined) {
  const session = troupe.client.sessions.get(id)
  const result = await awaitResult(session)
  const failure = { code: 'tool_outcome_unknown', message: expect.stringContaining(one.fails ?? ''), attempt: 1 }
  const value = { text: 'done', ...(one.facts && { facts: one.facts }) }
  expect(result).toMatchObject(one.fails ? { status: 'failed', failure } : { value })
  const results = (await troupe.history(session.rootId)).flatMap((entry) =>
    entry.type === 'toolResult' ? [[entry.toolCallId, entry.status]] : [],
  )
  expect(results).toEqual([['c1', status]])
}

describe('a call of unknown outcome', () => {
  test.each(cases)('a call of unknown outcome that ran out of time: %s', async (_, one) => {
    const { counted, workers } = payer(one, 30)
    await using troupe = await TestTroupe.start({ workers })
    const { id } = await troupe.create('payer', 'go')
    await expectEnd(troupe, id, one, one.status[0])
    expect(counted.runs).toBe(1)
  })

  test.each(cases)('a call of unknown outcome whose node died: %s', async (_, one) => {
    const { begun, counted, model, workers } = payer(one, 60_000)
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(workers)
    const { id } = await troupe.create('payer', 'go')
    await begun
    await first.stop({ force: true })
    await troupe.startNode(workers)
    await expectEnd(troupe, id, one, one.status[1])
    expect(counted.runs).toBe(one.runs)
    expect(model.requests).toHaveLength(one.fails ? 1 : 2)
  })

  test('a call of unknown outcome stays unknown if its run fails for another reason, and the next run sees it as unknown', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-unknown-'))
    const { begun, counted, model, workers } = payer({ status: unknown, runs: 1 }, 60_000, () => folder)
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(workers)
    const session = await troupe.create('payer', 'go', { keepOpen: true })
    await begun
    await first.stop({ force: true })
    await rm(folder, { recursive: true })
    await troupe.startNode(workers)
    const failed = await awaitResult(session, { run: 1 })
    expect(failed).toMatchObject({ status: 'failed', failure: { code: 'input_invalid' } })
    await mkdir(folder)
    await session.root.send('and now?')
    expect(await awaitResult(session, { run: 2 })).toMatchObject({ status: 'completed' })
    await rm(folder, { recursive: true })
    expect(counted.runs).toBe(1)
    const [told] = model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? []
    expect(told).toMatchObject({
      results: [{ toolCallId: 'c1', output: { value: expect.stringContaining('is unknown') } }],
    })
    expect((await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')).toMatchObject([
      { status: 'unknown' },
    ])
  })

  test.each([
    ['while it runs', false],
    ['when its node has gone', true],
  ])('a call of unknown outcome is recorded as unknown if its session is cancelled %s', async (_, hasGone) => {
    const { begun, workers } = payer({ status: unknown, runs: 1 }, 60_000)
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(workers)
    const session = await troupe.create('payer', 'go')
    await begun
    if (hasGone) await first.stop({ force: true })
    await session.cancel()
    if (hasGone) await troupe.startNode(workers)
    expect(await awaitResult(session)).toMatchObject({ status: 'cancelled' })
    expect((await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')).toMatchObject([
      { toolCallId: 'c1', status: 'unknown', output: { value: expect.stringContaining('is unknown') } },
    ])
  })

  test('a call of unknown outcome is reconciled with a copy of its arguments, and run with the original ones', async () => {
    const [begun, hangs] = [Promise.withResolvers<void>(), new Promise<never>(() => {})]
    const asked: unknown[] = []
    const paid: unknown[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      effect: 'once',
      approval: 'never',
      input: z.object({ to: z.string() }),
      async reconcile(input, context) {
        asked.push({ ...input }, Object.keys(context).sort())
        input.to = 'the auditor'
        return { done: false }
      },
      run(input) {
        paid.push({ ...input })
        begun.resolve()
        return paid.length === 1 ? hangs : 'paid'
      },
    })
    const model = recordedModel('test/payer', [call('pay', { to: 'Ann' }, 'c1'), say('done')])
    const workers = { payer: defineWorker({ instructions: 'x', model, tools: [pay] }) }
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(workers)
    const { id } = await troupe.create('payer', 'go')
    await begun.promise
    await first.stop({ force: true })
    await troupe.startNode(workers)
    await awaitResult(troupe.client.sessions.get(id))
    expect(paid).toEqual([{ to: 'Ann' }, { to: 'Ann' }])
    expect(asked).toEqual([{ to: 'Ann' }, ['idempotencyKey', 'log', 'setFact', 'signal']])
  })

  test.each(['before', 'after'])(
    'a call of unknown outcome is not one that reported a passing error %s another call failed the run',
    async (order) => {
      const [paid, refused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const pay = defineTool({
        name: 'pay',
        description: 'Pays.',
        effect: 'once',
        approval: 'never',
        async run() {
          paid.resolve()
          if (order === 'after') await refused.promise
          throw new TransientError('the bank is busy')
        },
      })
      const refuse = defineTool({
        name: 'refuse',
        description: 'Refuses.',
        effect: 'once',
        approval: 'never',
        async run() {
          await paid.promise
          throw new TerminalError('no more of this')
        },
      })
      const model = recordedModel('test/payer', [together(call('pay', {}, 'c1'), call('refuse', {}, 'c2'))])
      await using troupe = await TestTroupe.start({
        workers: { payer: defineWorker({ instructions: 'x', model, tools: [pay, refuse] }) },
      })
      const session = await troupe.create('payer', 'go')
      const resultsIn = async () => (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
      await waitUntil('the other has failed', async () => (await resultsIn()).length > 0)
      refused.resolve()
      const failed = await awaitResult(session)
      expect(failed).toMatchObject({ failure: { message: 'no more of this' } })
      const output = { type: 'error-text', value: expect.stringContaining('the bank is busy') }
      expect(await resultsIn()).toMatchObject([
        { toolCallId: 'c2', status: 'error' },
        { toolCallId: 'c1', status: 'error', output },
      ])
    },
  )
})
