/** Short checks of hooks and recipes, which run against sources without one guard (agent-checks.ts). */
import { expect } from 'vitest'
import type { AgentWorker } from '../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../src/core/definition/model.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { call, type ScriptedReply, say } from '../../src/models/local/scripted-model.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { awaitResult } from '../support/time/await-session.ts'
import { heldPolicy, holdWrites, storedTypes } from './held-writes.ts'

type Reply = (request: ModelRequest, number: number) => ScriptedReply | Promise<ScriptedReply>

/** One run of an agent. `stored`: types of the entries that are stored at this moment. */
async function runWith(
  redisUrl: string,
  make: (
    stored: () => Promise<string[]>,
    hold: () => Promise<unknown>,
  ) => { agent: Partial<AgentWorker>; reply: Reply },
): Promise<void> {
  await using troupe = await TestTroupe.connect({ redisUrl })
  let root = ''
  const stored = () => storedTypes(troupe.redis, troupe.tag, root)
  const { agent, reply } = make(stored, () => holdWrites(troupe.redis))
  const model = recordedModel('test/m', reply)
  const session = await troupe.create('agent', 'go')
  root = session.rootId
  await troupe.startNode({ agent: defineWorker({ instructions: 'x', model, ...agent }) }, { policy: heldPolicy })
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
}

export async function aDecisionIsRecordedBeforeItsToolRuns(redisUrl: string): Promise<void> {
  let seen: string[] = []
  await runWith(redisUrl, (stored, hold) => {
    const run = async () => {
      seen = await stored()
      return 'seen'
    }
    const look = defineTool({ name: 'look', description: 'x', effect: 'idempotent', run })
    const toolBefore = async () => {
      await hold()
      return { do: 'change', arguments: { n: 1 } } as const
    }
    return {
      agent: { tools: [look], hooks: { toolBefore } },
      reply: (_request, number) => (number === 1 ? call('look', {}, 'c1') : say('done')),
    }
  })
  expect(seen).toContain('callsDecided')
}

export async function aProcessorIsRecordedBeforeTheModelIsAsked(redisUrl: string): Promise<void> {
  let seen: string[] = []
  await runWith(redisUrl, (stored, hold) => ({
    agent: { hooks: { prompt: () => hold().then(() => ({ do: 'transform', input: 'changed' }) as const) } },
    reply: async () => {
      seen = await stored()
      return say('done')
    },
  }))
  expect(seen).toEqual(['user', 'hooked'])
}

export async function aStepOfARecipeIsRecordedAsStarted(redisUrl: string): Promise<void> {
  let seen: string[] = []
  await runWith(redisUrl, (stored, hold) => {
    const run = async () => {
      seen = await stored()
      return 'seen'
    }
    const look = defineTool({ name: 'look', description: 'x', effect: 'once', approval: 'never', run })
    const both = defineTool({ name: 'both', description: 'x', recipe: () => ({ serial: [{ tool: look }] }) })
    return {
      agent: { tools: [look, both] },
      reply: async (_request, number) => {
        if (number > 1) return say('done')
        await hold()
        return call('both', {}, 'c1')
      },
    }
  })
  expect(seen).toContain('subCallStarted')
}

export async function aCallWhoseCheckFailedDoesNotRun(redisUrl: string): Promise<void> {
  let ran = 0
  await runWith(redisUrl, () => {
    const look = defineTool({ name: 'look', description: 'x', effect: 'pure', run: () => ++ran })
    return {
      agent: { tools: [look], hooks: { toolBefore: () => Promise.reject(new Error('no list')) } },
      reply: (_request, number) => (number === 1 ? call('look', {}, 'c1') : say('done')),
    }
  })
  expect(ran).toBe(0)
}
