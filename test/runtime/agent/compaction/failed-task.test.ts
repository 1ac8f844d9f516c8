/** A conversation that is compacted after its last run failed: somebody may let that run go on. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../../src/core/errors.ts'
import { call, say, scriptedModel } from '../../../../src/models/local/scripted-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitResult } from '../../../support/time/await-session.ts'

test('a failed run that goes on behind a summary is told its task word by word', async () => {
  const prompts: string[] = []
  const replies = [
    say('Hello.'),
    call('look'),
    new TerminalError('No credit.', { code: 'model_refused' }),
    say('Done.'),
  ]
  const model = scriptedModel('test/m', ({ messages }) => {
    prompts.push(JSON.stringify(messages))
    return replies[prompts.length - 1] as (typeof replies)[0]
  })
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effect: 'pure',
    input: z.object({}),
    run: () => 'seen',
  })
  const compaction = { window: 100_000, model: scriptedModel('test/s', () => say('They talked.')) }
  const agent = defineWorker({ instructions: 'Work.', model, tools: [look], compaction })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'hello', { keepOpen: true })
  const ended = (run: number) => awaitResult(session, { run })
  await ended(1)
  await session.root.send('Count the red apples.')
  expect(await ended(2)).toMatchObject({ status: 'failed' })
  await session.root.compact({ keepLast: 1 })
  await session.retry()
  expect(await ended(2)).toMatchObject({ status: 'completed' })
  expect(prompts.at(-1)).toContain('They talked.')
  expect(prompts.at(-1)).toContain('which failed and may be taken up again, word by word]\\nCount the red apples.')
})
