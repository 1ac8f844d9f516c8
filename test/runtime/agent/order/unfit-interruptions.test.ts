/** Messages that are to interrupt an agent and do not fit its kind: they change nothing of what its run does (TURN-STEERS-2). */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../../src/core/errors.ts'
import { say } from '../../../../src/models/local/scripted-model.ts'
import { expectSound } from '../../../support/person/approvals.ts'
import { notedSteers } from '../../../support/person/noted-steers.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { messageOf } from '../support/steered-agent.ts'

test('a model call that fails beside a message that does not fit the kind is made again after its back-off', async () => {
  const begun = Promise.withResolvers<void>()
  const { noted, aroundTurns } = notedSteers()
  const model = recordedModel('test/m', async (_request, number) => {
    if (number > 1) return say('Done.')
    begun.resolve()
    await noted
    return new TransientError('not now', { retryAfterMs: 1 })
  })
  const agent = defineWorker({ instructions: 'Work.', model, input: z.object({ task: z.string() }) })
  await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns, policy: { modelBackoffMs: 1 } })
  const session = await troupe.create('agent', { task: 'go' }, { keepOpen: true })
  await begun.promise
  await messageOf(session, 'stop', 'interrupt')
  expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
  expect(model.requests).toHaveLength(2)
  expect(await troupe.history(session.rootId)).toContainEqual(
    expect.objectContaining({ type: 'attemptFailed', retryMs: expect.any(Number) }),
  )
  await expectSound(troupe)
})
