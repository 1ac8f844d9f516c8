/** Branches of a conversation: what an agent knew at a position, another conversation from there, and where two of them part. */
import { describe, expect, test, vi } from 'vitest'
import { Worker } from '../../../../src/client/worker.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../../src/core/definition/model.ts'
import { TerminalError } from '../../../../src/core/errors.ts'
import type { Json } from '../../../../src/core/history/chat/chat-message.ts'
import { call, say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { tool } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

const lastText = ({ messages }: ModelRequest) => JSON.stringify(messages.at(-1))
const echo = () => recordedModel('test/m', (request) => say(`answer to ${/question \d/.exec(lastText(request))?.[0]}`))

/** A conversation with an agent, of this many questions and answers. */
async function talked(questions: number, permissions = {}) {
  const model = echo()
  const look = tool('look', () => 'seen')
  const troupe = await TestTroupe.start({
    workers: {
      agent: defineWorker({ instructions: 'x', model, tools: [look] }),
      handler: defineWorker({ receive: (_, self) => self.reply(1) }),
    },
  })
  const session = await troupe.create('agent', 'question 1', { keepOpen: true, permissions })
  await session.result({ run: 1 })
  for (let run = 2; run <= questions; run++) {
    await session.root.send(`question ${run}`)
    await session.result({ run })
  }
  return { troupe, session, model, client: troupe.client }
}

describe('sessions.fork', () => {
  test('sessions.fork begins another conversation where the worker was at a position, and both go on [1.57, 1.58, 3.18]', async () => {
    const { troupe, session, model, client } = await talked(3)
    await using _ = troupe
    const secondAnswer = (await session.root.history()).filter(({ entry }) => entry.type === 'assistant')[1]
    const branch = await client.sessions.fork(session.root, { at: secondAnswer?.position, input: 'question 7' })
    expect(await branch.result({ run: 1 })).toMatchObject({ value: { text: 'answer to question 7' } })
    const prompt = JSON.stringify(model.requests.at(-1)?.messages)
    expect(prompt).toMatch(/question 1.*answer to question 1.*question 2.*answer to question 2.*question 7/)
    expect(prompt).not.toContain('question 3')
    await session.root.send('question 4')
    expect(await session.result({ run: 4 })).toMatchObject({ value: { text: 'answer to question 4' } })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('question 7')
    const { shared, left, right } = await session.root.diff(branch.root)
    expect([shared.length, left.length, right.length]).toEqual([4, 4, 2])
    expect((await client.audit({ sessionId: branch.id })).findings).toEqual([])
  })

  test('sessions.fork configures the branch as the worker was at that position (BRANCH-3)', async () => {
    const other = recordedModel('test/other', () => say('from the other'))
    const model = echo()
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [tool('look', () => 'seen')] }) },
      modelsByName: { 'test/other': other },
    })
    const session = await troupe.create('agent', 'question 1', { keepOpen: true })
    await session.result({ run: 1 })
    const before = (await session.root.report()).historyLength - 1
    const set = { model: 'test/other', settings: { temperature: 0.5 }, tools: [] }
    await session.root.configure(set)
    const later = await troupe.client.sessions.fork(session.root, { input: 'question 2' })
    expect(await later.result({ run: 1 })).toMatchObject({ value: { text: 'from the other' } })
    expect(other.requests.at(-1)).toMatchObject({ settings: { temperature: 0.5 }, tools: [] })
    expect((await later.root.report()).configured).toEqual(set)
    const again = await troupe.client.sessions.fork(later.root)
    expect((await again.root.report()).configured).toEqual(set)
    const earlier = await troupe.client.sessions.fork(session.root, { at: before, input: 'question 3' })
    expect(await earlier.result({ run: 1 })).toMatchObject({ value: { text: 'answer to question 3' } })
    expect((await earlier.root.report()).configured).toBeNull()
    expect((await troupe.client.audit()).findings).toEqual([])
  })

  test('a fork without an input waits for one, and the same key gives the same fork again', async () => {
    const { troupe, session, client } = await talked(1)
    await using _ = troupe
    const branch = await client.sessions.fork(session.root, { idempotencyKey: 'one', name: 'other way' })
    expect((await branch.root.report()).name).toBe('other way')
    const position = (await session.root.report()).historyLength - 1
    expect((await branch.summary()).branchOf).toEqual({ workerId: session.rootId, position })
    expect((await session.summary()).branchOf).toBeNull()
    for await (const { details } of branch.events({ after: '0-0', follow: false }))
      expect(details).toMatchObject({ branchOf: session.rootId })
    expect((await client.sessions.fork(session.root, { idempotencyKey: 'one', name: 'other way' })).id).toBe(branch.id)
    await branch.root.send('question 2')
    expect(await branch.result({ run: 1 })).toMatchObject({ value: { text: 'answer to question 2' } })
  })

  test('sessions.fork permits the branch no more than the worker that it comes from (BRANCH-2)', async () => {
    const { troupe, session, model, client } = await talked(1, { tools: [] })
    await using _ = troupe
    const branch = await client.sessions.fork(session.root, { input: 'question 2' })
    await branch.result({ run: 1 })
    expect(model.requests.map(({ tools }) => tools.length)).toEqual([0, 0])
  })

  test('a branch says of approvals what its first session says, but trusts no tool (BRANCH-2)', async () => {
    const { troupe, client } = await talked(1)
    await using _ = troupe
    const said = { approval: 'readOnly', whenNobodyAnswers: 'deny', approvalMs: 60_000 } as const
    const session = await client.sessions.create({ kind: 'agent', input: 'question 1', keepOpen: true, ...said })
    await session.result()
    const policy = { policy: 'readOnly', whenNobodyAnswers: 'deny', approvalMs: 60_000, trusted: [] }
    const branch = await client.sessions.fork(session.root)
    expect((await branch.summary()).approval).toEqual(policy)
  })

  test('a dry run has no branches, and a copy of it is a dry run (BRANCH-2, FORK-4)', async () => {
    const { troupe, session, client } = await talked(1)
    await using _ = troupe
    const dry = await session.fork({ dryRun: true })
    await expect(client.sessions.fork(dry.root)).rejects.toThrow(`it is a copy of: troupe worker fork ${session.id}`)
    expect((await (await dry.fork()).summary()).forkedFrom).toMatchObject({ sessionId: dry.id, dryRun: true })
    expect((await (await session.fork()).summary()).forkedFrom).toMatchObject({ dryRun: false })
  })

  test('the prompt of a branch is that of its conversation after retries, and with inputs that were changed or refused (BRANCH-MESSAGES-1)', async () => {
    let looks = 0
    const look = tool('look', () => {
      if (++looks === 1) throw new TerminalError('not yet')
      return 'seen'
    })
    const model = recordedModel('test/m', (request) =>
      lastText(request).includes('please') ? call('look') : say('answered'),
    )
    const prompt = (input: Json) =>
      input === 'a bad one'
        ? ({ do: 'abort', reason: 'it is bad' } as const)
        : ({ do: 'transform', input: (input as string).replace('4711', '####') } as const)
    const agent = defineWorker({ instructions: 'x', model, tools: [look], hooks: { prompt } })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'my code is 4711', { keepOpen: true })
    await session.result({ run: 1 })
    await session.root.send('a bad one')
    await session.result({ run: 2 })
    await session.root.send('please look')
    expect(await session.result({ run: 3 })).toMatchObject({ status: 'failed' })
    await session.retry()
    expect(await session.result({ run: 3 })).toMatchObject({ status: 'completed' })
    const branch = await troupe.client.sessions.fork(session.root, { input: 'and now?' })
    await branch.result({ run: 1 })
    await session.root.send('and now?')
    await session.result({ run: 4 })
    const [ofBranch, ofSession] = model.requests.slice(-2).map(({ messages }) => messages)
    expect(ofBranch).toEqual(ofSession)
    expect(JSON.stringify(ofBranch)).toMatch(/####.*left out.*please look.*seen/)
    expect(await session.root.diff(branch.root)).toMatchObject({ left: [], right: [] })
  })

  test('a branch of a worker that goes on meanwhile says up to which entry it has its history', async () => {
    const { troupe, session, client } = await talked(1)
    await using _ = troupe
    const report = await session.root.report()
    using _report = vi.spyOn(Worker.prototype, 'report').mockImplementationOnce(async () => {
      await session.root.send('question 2')
      await session.result({ run: 2 })
      return report
    })
    const branch = await client.sessions.fork(session.root, { input: 'question 3' })
    await branch.result({ run: 1 })
    const { historyLength } = await session.root.report()
    expect(historyLength).toBeGreaterThan(report.historyLength)
    expect((await branch.summary()).branchOf?.position).toBe(historyLength - 1)
    expect((await session.root.diff(branch.root)).left).toEqual([])
  })

  test('a fork of a worker with an open call has a result for that call', async () => {
    const asks = Promise.withResolvers<void>()
    const model = recordedModel('test/m', (request) =>
      /Go on/.test(lastText(request)) ? say('gone on') : call('wait'),
    )
    const wait = tool('wait', async () => {
      asks.resolve()
      await new Promise((resolve) => setTimeout(resolve, 60_000).unref())
    })
    const agent = defineWorker({ instructions: 'x', model, tools: [wait] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    await asks.promise
    // The tool is pure, so it may begin before its call is recorded.
    const isRecorded = async () => (await session.root.history()).some(({ entry }) => entry.type === 'assistant')
    await waitUntil('the call is recorded', isRecorded)
    const branch = await troupe.client.sessions.fork(session.root, { input: 'Go on' })
    expect(await branch.result({ run: 1 })).toMatchObject({ value: { text: 'gone on' } })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toMatch(/tool-call.*"role":"tool".*Go on/)
    await session.cancel()
  })

  test.each([
    [{ at: 900 }, /at: the history of worker \S+ ends at position \d+, not 900/],
    [{ at: -1 }, /at/],
    [{ from: 1 }, /does not know the option "from"/],
  ])('refuses %j', async (query, message) => {
    const { troupe, session, client } = await talked(1)
    await using _ = troupe
    await expect(client.sessions.fork(session.root, query as never)).rejects.toThrow(message)
  })

  test('refuses a handler, which has no conversation', async () => {
    const { troupe, client } = await talked(1)
    await using _ = troupe
    const session = await troupe.create('handler')
    await session.result()
    await expect(client.sessions.fork(session.root)).rejects.toThrow(/of kind handler has no conversation/)
  })
})

test('worker.context has what an agent knew at a position, and its size [1.60]', async () => {
  const { troupe, session } = await talked(2)
  await using _ = troupe
  const context = await session.root.context({ at: 0 })
  expect(context.history.messages.map(({ type }) => type)).toEqual(['user'])
  expect([context.action, context.input]).toEqual(['continue', 'question 1'])
  const now = await session.root.context()
  expect([now.history.length, now.action]).toEqual([4, 'stop'])
  expect(now.size.tokens).toBeGreaterThan(0)
})

describe('worker.metadata', () => {
  test('names how the last reply ended, the last tool and the time of the last summary [1.7]', async () => {
    const { troupe, session } = await talked(1)
    await using _ = troupe
    expect(await session.root.metadata()).toEqual({ 'agent_loop.completion_state': 'completed_ready_for_prompt' })
    const long = await talked(4)
    await using _long = long.troupe
    expect(await long.session.root.compact({ keepLast: 1 })).toMatchObject({ compacted: true })
    const summary = (await long.troupe.history(long.session.rootId)).find(({ type }) => type === 'compacted')
    expect((await long.session.root.metadata())?.['compact.last_run_timestamp']).toBe(
      new Date(summary?.at ?? 0).toISOString(),
    )
    const asks = tool('remove', () => 'gone', 'once')
    const model = recordedModel('test/m', (request) =>
      lastText(request).includes('question') ? call('remove', { path: 'x' }) : say('done'),
    )
    await using asking = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [{ ...asks, approval: 'always' }] }) },
    })
    const second = await asking.create('agent', 'question 1')
    const [ask] = await waitUntil('it asks', async () => {
      const asked = await second.asks()
      return asked.length > 0 && asked
    })
    expect(await second.root.metadata()).toEqual({
      'agent_loop.completion_state': 'completed_with_tool_request',
      'agent_loop.last_tool': 'remove',
    })
    expect(await second.root.state()).toEqual({
      state: 'AwaitingToolApproval',
      requests: [{ id: expect.any(String), toolName: 'remove', arguments: { path: 'x' }, approvalStatus: 'pending' }],
    })
    await asking.client.approvals.decide(ask?.id ?? '', { decision: 'approve' })
    await second.result()
    expect(await second.root.state()).toEqual({ state: 'Idle' })
    expect(await second.root.metadata()).toEqual({
      'agent_loop.completion_state': 'completed_ready_for_prompt',
      'agent_loop.last_tool': 'remove',
    })
  })
})
