/** The limits that all agents of a session share: checked before each model call, over the whole tree, and changeable while the session lives. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Session } from '../../../src/client/session/session.ts'
import type { AgentLimits } from '../../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Model, ModelReply } from '../../../src/core/definition/model.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../src/core/errors.ts'
import { newId } from '../../../src/core/ids.ts'
import type { Failure } from '../../../src/core/worker/run/failure.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../../src/store/keys.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const count = defineTool({ name: 'count', description: 'x', effect: 'pure', input: z.unknown(), run: () => 1 })
const usage = { inputTokens: 60, outputTokens: 50 }

async function used(troupe: TestTroupe, session: Session) {
  const { usage: total } = (await session.report()).session
  const written = await troupe.redis.hget(workerKeys(troupe.tag, session.rootId).record, 'spent')
  const { modelCalls, toolCalls, inputTokens, outputTokens } = total
  return { modelCalls, tokens: inputTokens + outputTokens, toolCalls, written }
}

describe('a conversation', () => {
  test('a conversation ends its runs when its model calls are used up, and goes on when the limit is raised', async () => {
    const model = recordedModel('test/m', (_, number) => say(`reply ${number}`))
    await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'x', model }) } })
    const session = await troupe.create('agent', 'one', { keepOpen: true, limits: { modelCalls: 2 } })
    await session.root.send('two')
    await session.root.send('three')
    expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'reply 2' } })
    const third = await session.result({ run: 3 })
    expect(third).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded', retryable: false } })
    const { message } = third.status === 'failed' ? third.failure : { message: '' }
    expect(message).toContain(`session ${session.id} has used 2 of the 2 model calls that its agents share`)
    expect(message).toContain(`troupe session retry ${session.id} --limits modelCalls=4`)
    const { session: stopped } = await session.report()
    const command = `troupe session retry ${session.id} --limits modelCalls=4`
    expect(stopped.holdups).toMatchObject([{ reason: 'budget', workerId: session.rootId, command }])
    expect(model.requests).toHaveLength(2)
    expect(await session.limit({ modelCalls: 3 })).toEqual({ modelCalls: 3, tokens: 2_000_000, toolCalls: 10_000 })
    expect((await session.summary()).limits).toMatchObject({ modelCalls: 3, tokens: 2_000_000, workers: 200 })
    await session.root.send('four')
    expect(await session.result({ run: 4 })).toMatchObject({ value: { text: 'reply 3' } })
    expect(await used(troupe, session)).toMatchObject({ modelCalls: 3, written: null })
  })

  test('a retry has the model of a conversation answer all messages whose runs failed at the limit', async () => {
    const model = recordedModel('test/m', (_, number) => say(`reply ${number}`))
    await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'x', model }) } })
    const session = await troupe.create('agent', 'one', { keepOpen: true, limits: { modelCalls: 1 } })
    for (const text of ['two', 'three', 'four']) await session.root.send(text)
    const failed = { status: 'failed', failure: { code: 'budget_exceeded' } }
    for (const run of [2, 3, 4]) expect(await session.result({ run })).toMatchObject(failed)
    await session.retry({ limits: { modelCalls: 2 } })
    expect(await session.result({ run: 4 })).toMatchObject({ value: { text: 'reply 2' } })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toMatch(/"one".*"reply 1".*"two".*"three".*"four"/)
    expect(await session.result({ run: 3 })).toMatchObject(failed)
  })

  test('a conversation counts requests that failed, and reports them apart', async () => {
    const away = new TransientError('away', { code: 'model_unavailable' })
    const model = recordedModel('test/m', [away, say('one'), away, away, away])
    const agent = defineWorker({ instructions: 'x', model, retries: 3 })
    await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelBackoffMs: 1 } })
    const session = await troupe.create('agent', 'one', { keepOpen: true, limits: { modelCalls: 4 } })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed' })
    expect((await session.report()).session.usage).toMatchObject({ modelCalls: 1, failedModelCalls: 1 })
    await session.root.send('two')
    const second = await session.result({ run: 2 })
    expect(second).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded' } })
    expect(second.status === 'failed' && second.failure.message).toContain(
      'has used 4 of the 4 model calls that its agents share, with 3 that failed',
    )
    expect(model.requests).toHaveLength(4)
    expect((await session.report()).session.usage).toMatchObject({ modelCalls: 1, failedModelCalls: 3 })
  })

  test.each([
    ['refuses', new TerminalError('no', { code: 'model_refused' })],
    ['throws', new Error('broken')],
    ['answers nonsense', { content: 'nonsense' } as never],
  ])('a conversation of a model that %s makes as many requests as its limit allows', async (_what, answer) => {
    const model = recordedModel('test/m', () => answer)
    const agent = defineWorker({ instructions: 'x', model })
    await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelBackoffMs: 1 } })
    const session = await troupe.create('agent', 'one', { keepOpen: true, limits: { modelCalls: 1 } })
    await session.result({ run: 1 })
    await session.root.send('two')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded' } })
    expect(model.requests).toHaveLength(1)
    expect((await session.report()).session.usage).toMatchObject({ modelCalls: 0, failedModelCalls: 1 })
  })

  test('a conversation counts the tokens that a provider named of requests that failed or were broken off', async () => {
    const begun = { inputTokens: 1_000, outputTokens: 0, cacheReadTokens: 900 }
    let calls = 0
    const model: Model = {
      id: 'test/m',
      async reply(_request, modelCall) {
        calls++
        modelCall.onUsage?.(begun)
        if (calls === 1) throw new TransientError('the connection broke', { code: 'model_unavailable' })
        if (calls === 3) return new Promise<never>(() => {})
        return {
          model: 'test/m',
          finishReason: 'stop',
          ...say('fine'),
          usage: { inputTokens: 1_000, outputTokens: 50 },
        }
      },
    }
    const agent = defineWorker({ instructions: 'x', model })
    await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelBackoffMs: 1 } })
    const session = await troupe.create('agent', 'one', { keepOpen: true })
    await session.result({ run: 1 })
    const afterOne = { inputTokens: 2_000, outputTokens: 50, cacheReadTokens: 900 }
    expect((await session.report()).session.usage).toMatchObject(afterOne)
    await session.root.send('two')
    await waitUntil('the third request', () => calls === 3)
    await session.root.cancelRun()
    await session.result({ run: 2 })
    const afterTwo = { inputTokens: 3_000, outputTokens: 50, cacheReadTokens: 1_800, failedModelCalls: 2 }
    expect((await session.report()).session.usage).toMatchObject(afterTwo)
    expect((await troupe.client.audit()).findings).toEqual([])
  })

  test('a conversation whose limit was lowered gets an error with a limit that lets it go on', async () => {
    const model = recordedModel('test/m', () => say('fine'))
    await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'x', model }) } })
    const session = await troupe.create('agent', 'one', { keepOpen: true })
    await session.root.send('two')
    await session.root.send('three')
    await session.result({ run: 3 })
    await session.limit({ modelCalls: 1 })
    await session.root.send('four')
    const fourth = await session.result({ run: 4 })
    const message = fourth.status === 'failed' ? fourth.failure.message : ''
    expect(message).toContain('has used 3 of the 1 model calls')
    expect(Number(/modelCalls=(\d+)$/.exec(message)?.[1])).toBeGreaterThan(3)
  })

  test.each([200, 220])(
    'a conversation that another node takes over goes on counting where the first one stopped, up to %i tokens',
    async (tokens) => {
      const model = recordedModel('test/m', () => ({ ...say('fine'), usage }))
      const workers = { agent: defineWorker({ instructions: 'x', model }) }
      await using troupe = await TestTroupe.connect()
      const first = await troupe.startNode(workers)
      const session = await troupe.create('agent', 'one', { keepOpen: true, limits: { tokens } })
      await session.result({ run: 1 })
      await first.stop()
      await troupe.startNode(workers)
      for (const text of ['two', 'three']) await session.root.send(text)
      // The call that goes beyond is made: what it uses is not known before.
      expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
      expect(await session.result({ run: 3 })).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded' } })
      expect(await used(troupe, session)).toMatchObject({ tokens: 220 })
    },
  )
})

const parentWithChildren = (model: ReturnType<typeof recordedModel>, tasks: number) => ({
  parent: defineWorker({
    instructions: 'x',
    model: recordedModel('test/parent', (_, number) =>
      number === 1
        ? call('spawn_workers', { tasks: Array.from({ length: tasks }, () => ({ kind: 'child', input: 'go' })) })
        : say('all done'),
    ),
    spawns: ['child'],
  }),
  child: defineWorker({ instructions: 'x', model, tools: [count] }),
})

describe('tool calls', () => {
  const ran: number[] = []
  const note = defineTool({
    name: 'note',
    description: 'x',
    effect: 'idempotent',
    input: z.object({ n: z.number() }),
    run: ({ n }) => {
      ran.push(n)
      return 'x'.repeat(100_000)
    },
  })
  const many = (calls: number): Pick<ModelReply, 'content'> => ({
    content: Array.from({ length: calls }, (_, n) => ({
      type: 'tool-call',
      toolCallId: `c${n}`,
      toolName: 'note',
      input: { n },
    })),
  })
  const agentOf = (model: Model, limits: AgentLimits = {}) =>
    defineWorker({ instructions: 'x', model, tools: [note], limits })

  test('tool calls of one reply beyond its limit get an error as their result, and the run goes on', async () => {
    ran.length = 0
    const model = recordedModel('test/m', [many(300), say('done')])
    await using troupe = await TestTroupe.start({ workers: { agent: agentOf(model) } })
    const session = await troupe.create('agent')
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(ran).toHaveLength(128)
    const results = (await troupe.history(session.rootId)).filter((entry) => entry.type === 'toolResult')
    expect(results).toHaveLength(300)
    const refused = results.filter(({ output }) =>
      JSON.stringify(output.value).includes('may have at most 128 tool calls'),
    )
    expect(refused).toHaveLength(172)
    // The outputs of one reply share two mebibytes.
    const given = results.flatMap(({ status, output }) => (status === 'ok' ? [output.value] : []))
    for (const output of given) expect(output).toMatch(/^x{6990}\n\[Output cut: it has 100000 bytes/)
    expect((await session.report()).session.usage).toMatchObject({ toolCalls: 128 })
  })

  test('tool calls of a run beyond its limit end the run before they begin, and the next run of a conversation is free', async () => {
    ran.length = 0
    const model = recordedModel('test/m', [many(3), many(3), many(2), say('done')])
    await using troupe = await TestTroupe.start({ workers: { agent: agentOf(model, { toolCalls: 5 }) } })
    const session = await troupe.create('agent', 'one', { keepOpen: true })
    const first = await session.result({ run: 1 })
    expect(first).toMatchObject({ status: 'failed', failure: { code: 'tool_calls_exceeded', retryable: false } })
    expect(ran).toEqual([0, 1, 2])
    await session.root.send('two')
    expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'done' } })
    expect(ran).toEqual([0, 1, 2, 0, 1])
  })

  test('tool calls of a session beyond its limit end the run, and a retry with a higher limit makes them', async () => {
    ran.length = 0
    const model = recordedModel('test/m', [many(3), many(3), say('done')])
    await using troupe = await TestTroupe.start({ workers: { agent: agentOf(model) } })
    const session = await troupe.create('agent', 'one', { limits: { toolCalls: 5 } })
    const failed = await session.result()
    expect(failed).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded', retryable: false } })
    const { message } = failed.status === 'failed' ? failed.failure : { message: '' }
    expect(message).toContain('has used 3 of the 5 tool calls that its agents share')
    expect(message).toContain('asked for 3 more, which were not run')
    expect(message).toContain(`troupe session retry ${session.id} --limits toolCalls=10`)
    await session.retry()
    expect(await session.result({ run: 1 })).toMatchObject({ failure: { code: 'budget_exceeded' } })
    await session.retry({ limits: { toolCalls: 6 } })
    expect(await session.result()).toMatchObject({ value: { text: 'done' } })
    expect(ran).toEqual([0, 1, 2, 0, 1, 2])
    expect(await used(troupe, session)).toMatchObject({ toolCalls: 6 })
    expect((await troupe.client.audit()).findings).toEqual([])
  })

  test('tool calls are counted over all agents of a session', async () => {
    ran.length = 0
    const model = recordedModel('test/child', (_, number) => (number % 2 === 0 ? say('done') : many(3)))
    const { parent } = parentWithChildren(model, 3)
    await using troupe = await TestTroupe.start({ workers: { parent, child: agentOf(model) }, concurrency: 1 })
    const session = await troupe.create('parent', 'go', { limits: { toolCalls: 7 } })
    await session.result()
    // The parent called once, and two of its children three times each. The calls of the third child count, but do not run.
    expect(ran).toHaveLength(6)
    expect(await used(troupe, session)).toMatchObject({ toolCalls: 10 })
  })
})

describe('a tree of agents', () => {
  test('a tree of agents shares its limits: a child cannot use what its siblings have used', async () => {
    const model = recordedModel('test/child', (_, number) => (number % 3 === 0 ? say('done') : call('count')))
    await using troupe = await TestTroupe.start({ workers: parentWithChildren(model, 5), concurrency: 1 })
    const session = await troupe.create('parent', 'go', { limits: { modelCalls: 8 } })
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded' } })
    // There is one slot, so no two agents think at the same time: the parent calls its model once, its children 3, 3 and 1 times.
    expect(model.requests).toHaveLength(7)
    expect(await used(troupe, session)).toMatchObject({ modelCalls: 8, written: '8 0 6' })
    const { workers } = await session.report()
    const failed = workers.filter(({ lastFailure }) => lastFailure?.code === 'budget_exceeded')
    expect(failed).toHaveLength(4)
    // The root can be retried with more; a child has told its parent.
    const told = (failure: Failure | null) => failure?.message.includes(`troupe session limit ${session.id}`)
    expect(failed.map(({ parentId, lastFailure }) => told(lastFailure) === (parentId !== null))).not.toContain(false)
  })

  test('a tree of agents exceeds a limit by at most one call of each agent that asks its model at the same moment', async () => {
    const model = recordedModel('test/child', () => ({ ...call('count'), usage }))
    await using troupe = await TestTroupe.start({ workers: parentWithChildren(model, 6) })
    const session = await troupe.create('parent', 'go', { limits: { modelCalls: 12 } })
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded' } })
    const { modelCalls, tokens, toolCalls, written } = await used(troupe, session)
    expect(modelCalls).toBeGreaterThanOrEqual(12)
    expect(modelCalls).toBeLessThan(12 + 6)
    expect(written).toBe(`${modelCalls} ${tokens} ${toolCalls}`)
    const findings = async () => (await troupe.client.audit()).findings.map(({ what }) => what)
    expect(await findings()).toEqual([])
    await troupe.redis.hset(workerKeys(troupe.tag, session.rootId).record, 'spent', `11 ${tokens}`)
    expect(await findings()).toEqual([
      expect.stringContaining(`has spent 11 model calls, ${tokens} tokens and 0 tool calls`),
    ])
  })

  test('a tree of agents notices a raised limit while it runs', async () => {
    const model = recordedModel('test/child', (_, number) => (number < 3 ? call('raise') : say('done')))
    const raise = defineTool({
      name: 'raise',
      description: 'x',
      effect: 'idempotent',
      input: z.unknown(),
      run: () => session.limit({ modelCalls: 4 }),
    })
    const { parent } = parentWithChildren(model, 1)
    const child = defineWorker({ instructions: 'x', model, tools: [raise] })
    await using troupe = await TestTroupe.connect()
    const session: Session = await troupe.create('parent', 'go', { limits: { modelCalls: 3 } })
    await troupe.startNode({ parent, child })
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded' } })
    expect(model.requests).toHaveLength(3)
  })
})

describe('limit', () => {
  test.each([
    [{}, /limit takes one of modelCalls, tokens/],
    [
      { workers: 5 },
      /"workers" is not a limit: only modelCalls, tokens, toolCalls of an existing session can be changed/,
    ],
    [{ tokens: 0 }, /"tokens" must be a whole number from 1 to/],
    [null, /limit takes an object like \{ modelCalls: 1000 \}, not null/],
  ])('refuses %j', async (limits, why) => {
    await using troupe = await TestTroupe.connect()
    await expect(troupe.client.sessions.get(newId(0)).limit(limits as never)).rejects.toThrow(why)
  })

  test('a limit is refused for a session that does not exist or has ended', async () => {
    await using troupe = await TestTroupe.start({
      workers: { echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) },
    })
    const session = await troupe.create('echo', 1)
    await session.result()
    await expect(session.limit({ tokens: 5 })).rejects.toMatchObject({
      code: 'session_finished',
      message: `session ${session.id} is completed and spends no more: create a new session with higher limits.`,
    })
    const missing = troupe.client.sessions.get(newId(0))
    await expect(missing.limit({ tokens: 5 })).rejects.toMatchObject({ code: 'session_not_found' })
  })
})
