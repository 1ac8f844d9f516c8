/** The events of a worker's turns while these go on: each comes once, in its order, with what a watcher needs to know. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { childId } from '../../../src/core/ids.ts'
import { call, type ScriptedReply, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents } from '../../support/time/await-session.ts'

const soon = { retryAfterMs: 1 }
const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

/** The events of the root, without what comes to it from outside. */
async function toldOf(session: Session): Promise<unknown[]> {
  const told: unknown[] = []
  const following = awaitEvents(session, { after: '0-0', transient: false })
  for await (const { type, workerId, details } of following)
    if (workerId === session.rootId && type !== 'message.accepted') told.push([type, withoutWork(type, details)])
  return told
}

/** Without for how long a handler worked: that is told only if it took a while, as on a busy machine. */
function withoutWork(type: string, details: object): object {
  if (!['run.started', 'message.consumed', 'turn.retried'].includes(type)) return details
  return Object.fromEntries(Object.entries(details).filter(([name]) => name !== 'ms'))
}

test('the events of a handler name its children, its attempts, its messages and its end', async () => {
  const parent = defineWorker({
    receive(message, self) {
      if (message.kind === 'input') {
        self.spawn('echo', 1, { name: 'one' })
        self.spawn('echo', 2, { detached: true })
      } else if (message.kind === 'result') {
        if (self.attempt === 1) throw new TransientError('not yet', soon)
        self.after(0, null)
      } else self.fail('enough')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { echo, parent } })
  const session = await troupe.create('parent')
  const { rootId } = session
  const failure = {
    code: 'handler_failed',
    message: 'not yet',
    thrownAt: expect.stringContaining('events.test.ts'),
    origin: 'handler',
    attempt: 1,
    retryable: true,
  }
  expect(await toldOf(session)).toEqual([
    ['session.created', { kind: 'parent' }],
    ['run.started', {}],
    ['worker.spawned', { id: childId(rootId, 1, 1), kind: 'echo', name: 'one', parent: rootId }],
    ['worker.spawned', { id: childId(rootId, 1, 2), kind: 'echo', name: 'echo-2', parent: rootId, detached: true }],
    ['turn.retried', { run: 1, attempt: 1, retryMs: 1, failure: { ...failure, at: expect.any(Number) } }],
    ['message.consumed', { kind: 'result', from: childId(rootId, 1, 1) }],
    ['message.consumed', { kind: 'timer' }],
    ['worker.failed', { run: 1, failure: expect.objectContaining({ message: 'enough', attempt: 1 }) }],
    ['session.failed', {}],
  ])
})

test.each([
  [{}, { kind: 'echo' }],
  [{ name: 'echo' }, { kind: 'echo' }],
  [
    { name: 'mine', keepOpen: true },
    { kind: 'echo', name: 'mine', mode: 'conversation' },
  ],
])('a session of %j begins with an event that says what it is', async (more, details) => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('echo', 1, more)
  const { value } = await session.events({ after: '0-0' }).next()
  expect(value).toMatchObject({ type: 'session.created', workerId: session.rootId })
  expect(value?.details).toEqual(details)
})

test('the events of an agent name its model, its tools, its children, its attempts and how it ends', async () => {
  const none = z.object({})
  const tools = [
    defineTool({ name: 'works', description: 'x', effect: 'once', approval: 'never', input: none, run: () => 1 }),
    defineTool({
      name: 'breaks',
      description: 'x',
      effect: 'pure',
      input: none,
      run() {
        throw new Error('no')
      },
    }),
  ]
  const tasks = [
    { kind: 'echo', input: 'x' },
    { kind: 'echo', input: 'y', detached: true },
  ]
  const counted = (reply: ScriptedReply) => ({
    ...reply,
    usage: { inputTokens: 3, outputTokens: 4, cacheReadTokens: 5, cacheWriteTokens: 6, reasoningTokens: 7 },
  })
  const model = scriptedModel('test/one', [
    { content: [] },
    counted(call('works', {}, 'a')),
    new TransientError('busy', soon),
    call('breaks', {}, 'b'),
    call('spawn_workers', { tasks }, 'c'),
    counted({ ...say('done'), finishReason: 'length' }),
  ])
  const agent = defineWorker({ instructions: 'x', model, tools, spawns: ['echo'], retries: 1, continues: 0 })
  await using troupe = await TestTroupe.start({ workers: { echo, agent } })
  const session = await troupe.create('agent')
  const { rootId } = session
  const failure = expect.objectContaining({ message: 'busy', origin: 'model', attempt: 1 })
  const replied = (iteration: number, calls: number, [inputTokens, outputTokens] = [0, 0], odd = {}) => [
    'model.replied',
    { model: 'test/one', iteration, calls, inputTokens, outputTokens, ...odd },
  ]
  const [ms, retryMs] = [expect.any(Number), expect.any(Number)]
  expect(await toldOf(session)).toEqual([
    ['session.created', { kind: 'agent' }],
    ['run.started', {}],
    ['model.blanked', { model: 'test/one', blanks: 1, finishReason: 'stop' }],
    replied(1, 1, [3, 4]),
    ['tool.started', { toolCallId: 'a', toolName: 'works' }],
    ['tool.succeeded', { toolCallId: 'a', toolName: 'works', ms }],
    ['turn.retried', { run: 1, attempt: 1, retryMs, failure }],
    replied(2, 1),
    [
      'tool.failed',
      { toolCallId: 'b', toolName: 'breaks', ms, error: 'no', thrownAt: expect.stringContaining('events.test.ts') },
    ],
    replied(3, 1),
    ['worker.spawned', { id: childId(rootId, 1, 1), kind: 'echo', name: 'echo-1', parent: rootId }],
    ['worker.spawned', { id: childId(rootId, 1, 2), kind: 'echo', name: 'echo-2', parent: rootId, detached: true }],
    ['message.consumed', { kind: 'result', from: childId(rootId, 1, 1) }],
    replied(4, 0, [3, 4], { finishReason: 'length' }),
    // The event holds what somebody who waits for a job's result would otherwise ask for.
    ['run.completed', { value: { text: 'done', finishReason: 'length' } }],
    ['session.completed', {}],
  ])
  const read = { cacheReadTokens: 10, cacheWriteTokens: 12, reasoningTokens: 14 }
  const usage = { modelCalls: 5, inputTokens: 6, outputTokens: 8, ...read }
  expect(await session.report()).toMatchObject({
    session: { usage: { ...usage, workers: 3 } },
    workers: [{ usage, iterations: 4, lastFailure: null }, {}, {}],
  })
})

test.each([
  [
    'what its last reply was',
    { n: 1 },
    [['model.replied', expect.objectContaining({ calls: 1 })]],
    'iterations_exceeded',
  ],
  ['no reply', 'no object', [], 'input_invalid'],
])('an agent that fails at once reports that its run began, and %s', async (_, input, replied, code) => {
  const model = scriptedModel('test/one', [call('look', {}, 'a')])
  const agent = defineWorker({
    instructions: 'x',
    model,
    input: z.object({ n: z.number() }),
    limits: { iterations: 1 },
  })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  expect(await toldOf(await troupe.create('agent', input))).toEqual([
    ['session.created', { kind: 'agent' }],
    ['run.started', {}],
    ...replied,
    ['worker.failed', { run: 1, failure: expect.objectContaining({ code }) }],
    ['session.failed', {}],
  ])
})
