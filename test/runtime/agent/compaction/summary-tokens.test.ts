/** What a summary has used: all of its requests that left were paid for, also those that brought no summary. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { Model } from '../../../../src/core/definition/model.ts'
import { TransientError } from '../../../../src/core/errors.ts'
import { say, scriptedModel } from '../../../../src/models/local/scripted-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitIdle, awaitResult } from '../../../support/time/await-session.ts'

/** Two runs that used no token, and what their session has used once a summary of them was asked for again. */
async function conversationSummedUpBy(writer: Model) {
  const answering = scriptedModel('test/m', () => ({ ...say('fine'), usage: { inputTokens: 0, outputTokens: 0 } }))
  const agent = defineWorker({ instructions: 'x', model: answering, compaction: { window: 100_000, model: writer } })
  const troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'one', { keepOpen: true })
  await session.root.send('two')
  await awaitResult(session, { run: 2 })
  const used = async () => {
    await session.root.compact({ keepLast: 1 })
    await awaitIdle(session)
    return (await session.report()).session.usage
  }
  return { troupe, used, [Symbol.asyncDispose]: () => troupe[Symbol.asyncDispose]() }
}

test('a conversation counts the tokens that a provider named of requests that brought no summary, and those of a summary once', async () => {
  const named = { inputTokens: 1_000, outputTokens: 0, cacheReadTokens: 900 }
  let asked = 0
  const writer: Model = {
    id: 'test/s',
    async reply(_request, modelCall) {
      asked++
      modelCall.onUsage?.(named)
      if (asked === 1) throw new TransientError('the connection broke', { code: 'model_unavailable' })
      const usage = { inputTokens: 1_000, outputTokens: 50 }
      return { model: 'test/s', finishReason: 'stop', ...say(asked === 2 ? '' : 'They talked.'), usage }
    },
  }
  await using conversation = await conversationSummedUpBy(writer)
  const { used } = conversation
  expect(await used()).toMatchObject({ inputTokens: 1_000, cacheReadTokens: 900, failedModelCalls: 1 })
  expect(await used()).toMatchObject({ inputTokens: 2_000, cacheReadTokens: 1_800, failedModelCalls: 2 })
  const afterSummary = { modelCalls: 3, inputTokens: 3_000, outputTokens: 50, cacheReadTokens: 1_800 }
  expect(await used()).toMatchObject({ ...afterSummary, failedModelCalls: 2 })
  expect((await conversation.troupe.client.audit()).findings).toEqual([])
})

test('a request for a summary that never left uses up no model call (OPEN-REQUEST-3)', async () => {
  let asked = 0
  const writer: Model = {
    id: 'test/s',
    tellsSent: true,
    async reply(_request, modelCall) {
      if (++asked === 2) modelCall.onSent?.()
      throw new TransientError('the connection broke', { code: 'model_unavailable' })
    },
  }
  await using conversation = await conversationSummedUpBy(writer)
  const { used } = conversation
  expect(await used()).not.toHaveProperty('failedModelCalls')
  expect(await used()).toMatchObject({ failedModelCalls: 1 })
})
