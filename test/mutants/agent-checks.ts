/**
 * Short checks of the agent runtime, which run against sources without one guard. Each expects a promise to be kept.
 * They run from a copy of what they import as well (source-copy.ts).
 */
import { expect } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool, type Effect } from '../../src/core/definition/tool/define-tool.ts'
import type { ChatMessage } from '../../src/core/history/chat/chat-message.ts'
import { ConversationHistory } from '../../src/core/history/history.ts'
import { call, say, together } from '../../src/models/local/scripted-model.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { heldPolicy, holdWrites, storedTypes } from './held-writes.ts'

export { aDenialDeniesTheReply, nothingRunsBeforeAllIsDecided, whatRunsIsWhatWasApproved } from './approval-checks.ts'
export {
  aCallWhoseCheckFailedDoesNotRun,
  aDecisionIsRecordedBeforeItsToolRuns,
  aProcessorIsRecordedBeforeTheModelIsAsked,
  aStepOfARecipeIsRecordedAsStarted,
} from './hook-checks.ts'

import { awaitResult } from '../support/time/await-session.ts'

export type AgentCheck = (redisUrl: string) => Promise<void>

class Scene implements AsyncDisposable {
  readonly troupe: TestTroupe

  constructor(troupe: TestTroupe) {
    this.troupe = troupe
  }

  static async open(redisUrl: string): Promise<Scene> {
    return new Scene(await TestTroupe.connect({ redisUrl }))
  }

  holdWrites(): Promise<void> {
    return holdWrites(this.troupe.redis)
  }

  stored(workerId: string): Promise<string[]> {
    return storedTypes(this.troupe.redis, this.troupe.tag, workerId)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.troupe[Symbol.asyncDispose]()
  }
}

/** The entries that are stored when a tool of this class begins, while the commit of its call is held up. */
async function storedAtTheStart(redisUrl: string, effect: Effect): Promise<string[]> {
  await using scene = await Scene.open(redisUrl)
  let seen: string[] = []
  const tool = defineTool({
    name: 'look',
    description: 'x',
    effect,
    approval: 'never',
    run: async (_input, { workerId }) => {
      seen = await scene.stored(workerId)
      return 'seen'
    },
  })
  const model = recordedModel('test/m', async (_request, number) => {
    if (number > 1) return say('done')
    await scene.holdWrites()
    return call('look', {}, 'c1')
  })
  await scene.troupe.startNode(
    { agent: defineWorker({ instructions: 'x', model, tools: [tool] }) },
    { policy: heldPolicy },
  )
  expect(await scene.troupe.run('agent', 'go')).toMatchObject({ status: 'completed' })
  return seen
}

export const aReplyIsRecordedBeforeItsToolsRun: AgentCheck = async (redisUrl) => {
  expect(await storedAtTheStart(redisUrl, 'idempotent')).toContain('assistant')
}

export const aOnceToolIsRecordedAsStarted: AgentCheck = async (redisUrl) => {
  expect(await storedAtTheStart(redisUrl, 'once')).toContain('toolStarted')
}

export const aModelCallFollowsWhatIsRecorded: AgentCheck = async (redisUrl) => {
  await using scene = await Scene.open(redisUrl)
  const tool = defineTool({
    name: 'hold',
    description: 'x',
    // The result of a pure tool may still be on its way (THINK-1).
    effect: 'idempotent',
    run: async () => {
      await scene.holdWrites()
      return 'held'
    },
  })
  let seen: string[] = []
  let root = ''
  const model = recordedModel('test/m', async ({ idempotencyKey }, number) => {
    root = idempotencyKey.split('/')[0] ?? ''
    if (number === 1) return call('hold', {}, 'c1')
    seen = await scene.stored(root)
    return say('done')
  })
  await scene.troupe.startNode(
    { agent: defineWorker({ instructions: 'x', model, tools: [tool] }) },
    { policy: heldPolicy },
  )
  expect(await scene.troupe.run('agent', 'go')).toMatchObject({ status: 'completed' })
  expect(seen).toContain('toolResult')
}

/** The number of different ids of three calls; the model gives the first two in one reply. */
async function idsOfCalls(redisUrl: string, first: string, second: string, third: string): Promise<number> {
  await using scene = await Scene.open(redisUrl)
  const tool = defineTool({ name: 'look', description: 'x', effect: 'pure', run: () => 'seen' })
  const twice = together(call('look', { n: 1 }, first), call('look', { n: 2 }, second))
  const model = recordedModel('test/m', [twice, call('look', { n: 3 }, third), say('done')])
  await scene.troupe.startNode({ agent: defineWorker({ instructions: 'x', model, tools: [tool] }) })
  const session = await scene.troupe.create('agent', 'go')
  await awaitResult(session).catch(() => {})
  const results = (await scene.troupe.history(session.rootId)).filter((entry) => entry.type === 'toolResult')
  return new Set(results.map(({ toolCallId }) => toolCallId)).size
}

export const aRepeatedCallIdIsRenamed: AgentCheck = async (redisUrl) => {
  expect(await idsOfCalls(redisUrl, 'same', 'same', 'same')).toBe(3)
}

export const aMadeCallIdIsNoneThatWasGiven: AgentCheck = async (redisUrl) => {
  expect(await idsOfCalls(redisUrl, 'call-1-1-2', '', 'c3')).toBe(3)
}

export const aFactIsNeverShownToTheModel: AgentCheck = async (redisUrl) => {
  await using scene = await Scene.open(redisUrl)
  const tool = defineTool({
    name: 'look',
    description: 'x',
    effect: 'pure',
    run: (_input, { setFact }) => {
      setFact('hidden', 'a secret fact')
      return 'seen'
    },
  })
  const model = recordedModel('test/m', [call('look'), say('done')])
  await scene.troupe.startNode(
    { agent: defineWorker({ instructions: 'x', model, tools: [tool] }) },
    { policy: heldPolicy },
  )
  expect(await scene.troupe.run('agent', 'go')).toMatchObject({ value: { facts: { hidden: 'a secret fact' } } })
  expect(JSON.stringify(model.requests)).not.toContain('a secret fact')
}

const stamp = (id: string) => ({ id, at: 1 })
const result = (id: string, toolCallId: string, value: string): ChatMessage => ({
  type: 'toolResult',
  ...stamp(id),
  toolCallId,
  toolName: 'look',
  status: 'ok',
  output: { type: 'text', value },
})

export const aResultOfNoCallIsLeftOut: AgentCheck = async () => {
  const history = ConversationHistory.from([
    { type: 'user', ...stamp('m0'), content: [{ type: 'text', text: 'go' }] },
    {
      type: 'assistant',
      ...stamp('m1'),
      model: 'test/m',
      content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} }],
      finishReason: 'tool-calls',
      usage: { inputTokens: 1, outputTokens: 1 },
    },
    result('m2', 'a', 'the answer'),
    result('m3', 'a', 'an orphan'),
    result('m4', 'never-called', 'an orphan'),
  ])
  const prompt = JSON.stringify(history.prompt())
  expect(prompt).toContain('the answer')
  expect(prompt).not.toContain('an orphan')
}
