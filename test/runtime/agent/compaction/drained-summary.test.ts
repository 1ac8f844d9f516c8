/** What becomes of the summary of a conversation, or of a prompt that is too long, when its node drains in the middle of a run (COMPACT-1). */
import { expect, test } from 'vitest'
import type { CompactionSettings } from '../../../../src/core/definition/agent/compaction-settings.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { Model, ModelRequest } from '../../../../src/core/definition/model.ts'
import { TerminalError } from '../../../../src/core/errors.ts'
import { call, say, scriptedModel } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { tool } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

const isHandoff = ({ instructions }: ModelRequest) => instructions.startsWith('You write the handoff')

/** A run whose summary is begun beside its fourth reply. `write`: how the first summary is written. Its node drains while the tool of that reply runs. */
async function drained(write: (signal: AbortSignal) => Promise<string>) {
  const [running, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const summaries: Promise<string>[] = []
  let replies = 0
  const replying = scriptedModel('test/m', () => {
    replies++
    const inputTokens = replies === 3 ? 900 : 100
    return { ...(replies > 4 ? say('Done.') : call('read')), usage: { inputTokens, outputTokens: 0 } }
  })
  const model: Model = {
    ...replying,
    async reply(request, asked) {
      if (!isHandoff(request)) return replying.reply(request, asked)
      const written = summaries.length === 0 ? write(asked.signal) : Promise.resolve('They read again.')
      summaries.push(written)
      return scriptedModel('test/m', [say(await written)]).reply(request, asked)
    },
  }
  const read = tool('read', async () => {
    if (replies < 4) return 'a line'
    running.resolve()
    await gate.promise
    return 'the last line'
  })
  const agent = defineWorker({ instructions: 'x', model, tools: [read], compaction: { window: 1_000, keep: 2 } })
  const troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'go')
  await running.promise
  await waitUntil('a summary is begun', () => summaries.length === 1)
  const stopping = troupe.nodes[0]?.stop()
  gate.resolve()
  await stopping
  const history = await troupe.history(session.rootId)
  return { troupe, session, agent, summaries, types: history.map(({ type }) => type) }
}

test('a summary that is written when its node drains is recorded, and paid for once', async () => {
  const { troupe, session, agent, summaries, types } = await drained(async () => 'They read.')
  await using _ = troupe
  expect(types.filter((type) => type === 'compacted')).toHaveLength(1)
  await troupe.startNode({ agent })
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
  expect(summaries).toHaveLength(1)
  expect((await session.report()).session.usage).toMatchObject({ modelCalls: 6 })
})

test('a summary that is being written when its node drains is broken off, and counts as a model call that failed', async () => {
  const { promise: brokenOff, reject } = Promise.withResolvers<string>()
  const { troupe, session, types } = await drained((signal) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    return brokenOff
  })
  await using _ = troupe
  await expect(brokenOff).rejects.toThrow('aborted')
  expect(types.filter((type) => type === 'compacted')).toEqual([])
  expect((await session.report()).session.usage).toMatchObject({ modelCalls: 4, failedModelCalls: 1 })
})

/** A run whose provider refuses its third request as too long while its node drains. */
async function refused(compaction: CompactionSettings | false) {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const model = recordedModel('test/m', async (request, number) => {
    if (number < 3) return call('read')
    if (JSON.stringify(request.messages).length < 9_000) return say('Done.')
    asked.resolve()
    await gate.promise
    return new TerminalError('prompt is too long', { code: 'context_overflow' })
  })
  const agent = defineWorker({ instructions: 'x', model, tools: [tool('read', () => 'a'.repeat(8_000))], compaction })
  const troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'go')
  await asked.promise
  const stopping = troupe.nodes[0]?.stop()
  gate.resolve()
  await stopping
  await troupe.startNode({ agent })
  return { troupe, result: await session.result(), requests: model.requests }
}

test('a prompt that is too long when its node drains fails its run at once if its kind does not compact', async () => {
  const { troupe, result, requests } = await refused(false)
  await using _ = troupe
  expect(result).toMatchObject({ status: 'failed', failure: { code: 'context_overflow' } })
  expect(requests).toHaveLength(3)
})

test('a prompt that is too long when its node drains is made shorter by that node if old results can be cleared', async () => {
  const { troupe, result, requests } = await refused({ keep: 1 })
  await using _ = troupe
  expect(result).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
  expect(requests).toHaveLength(4)
})
