/** Tokens are counted by sort, in all and for the newest reply, and the next prompt is shown as a share of the window of its model. */
import { describe, expect, test } from 'vitest'
import { contextText, lastUsageText, usageText } from '../../../../src/cli/view/worker-columns.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../../src/core/definition/model.ts'
import { say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitIdle, awaitResult } from '../../../support/time/await-session.ts'

const isHandoff = ({ instructions }: ModelRequest) => instructions.startsWith('You write the handoff')
const usage = (inputTokens: number) => ({
  inputTokens,
  outputTokens: 20,
  cacheReadTokens: 30,
  cacheWriteTokens: 40,
  reasoningTokens: 5,
})

async function conversation(id: string, window?: number, turns = 3) {
  let asked = 0
  const model = recordedModel(id, (request) =>
    isHandoff(request) ? say('They talked.') : { ...say('reply'), usage: usage(100 + asked++) },
  )
  const agent = defineWorker({ instructions: 'x', model, compaction: { keep: 1, ...(window && { window }) } })
  const troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'text', { keepOpen: true })
  for (let run = 1; run <= turns; run++) {
    if (run > 1) await session.root.send('text')
    await awaitResult(session, { run })
  }
  await awaitIdle(session)
  return { troupe, session, root: session.root }
}

describe('tokens of an agent', () => {
  test('tokens of an agent are counted by sort, in all and for the newest reply, and as a share of the window that its kind names [4.21]', async () => {
    const { troupe, root } = await conversation('test/m', 1_220)
    await using _ = troupe
    const tokens = await root.tokens()
    expect(tokens.total).toEqual({
      inputTokens: 303,
      outputTokens: 60,
      cacheReadTokens: 90,
      cacheWriteTokens: 120,
      reasoningTokens: 15,
    })
    expect(tokens.last).toEqual(usage(102))
    expect(tokens.context).toEqual({ tokens: 122, model: 'test/m', window: 1_220, share: 0.1 })
    expect(contextText(tokens)).toBe('122 tokens, 10 % of the 1.2k of test/m')
    expect(lastUsageText(tokens)).toBe('102 tokens in (30 from the cache, 40 into the cache), 20 out (5 reasoning)')
    expect(usageText({ modelCalls: 3, ...tokens.total })).toContain(
      '303 tokens in (90 from the cache, 120 into the cache)',
    )
  })

  test('tokens of an agent are a share of the window that a table knows, and of none if nobody knows it', async () => {
    const known = await conversation('openai/gpt-4o', undefined, 1)
    await using _ = known.troupe
    const { context } = await known.root.tokens()
    expect(context.window).toBeGreaterThan(100_000)
    expect(context.share).toBe(context.tokens / Number(context.window))
    const unknown = await conversation('test/m', undefined, 1)
    await using _unknown = unknown.troupe
    expect((await unknown.root.tokens()).context).toMatchObject({ window: null, share: null })
  })

  test('tokens of a long conversation are read from its end, and after a summary they are those of the new prompt', async () => {
    const { troupe, root } = await conversation('test/m', 100_000, 20)
    await using _ = troupe
    expect((await root.tokens()).last).toEqual(usage(119))
    expect(await root.compact({ keepLast: 1 })).toMatchObject({ compacted: true })
    const after = (await root.tokens()).context.tokens
    expect(after).toBe((await root.context()).size.tokens)
    expect(after).toBeLessThan(100)
  })
})
