/** What an agent's definition says about its model calls, and when. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { ConfigError, TransientError } from '../../../src/core/errors.ts'
import { say } from '../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

test('a model is asked with the settings of its agent, also when it is asked again', async () => {
  const settings = { temperature: 0.2, maxOutputTokens: 50 }
  const model = recordedModel('test/m', [new TransientError('busy', { code: 'model_overloaded' }), say('Fine.')])
  const agent = defineWorker({ instructions: 'x', model, settings })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelBackoffMs: 1 } })
  expect(await troupe.run('agent')).toMatchObject({ status: 'completed' })
  expect(model.requests.map((request) => request.settings)).toEqual([settings, settings])
})

test('a model of your own may refuse settings when the node starts', async () => {
  const model = { ...recordedModel('test/m', []), settingProblem: () => 'the model test/m takes no temperature.' }
  const agent = defineWorker({ instructions: 'x', model, settings: { temperature: 1 } })
  await using troupe = await TestTroupe.connect()
  await expect(troupe.startNode({ agent })).rejects.toThrow(
    new ConfigError('kind "agent": the model test/m takes no temperature.'),
  )
})

test('instructions are written from the input of each run', async () => {
  const model = recordedModel('test/m', () => say('Fine.'))
  const agent = defineWorker({
    input: z.object({ tone: z.string() }),
    instructions: (self, input) => `${self.kind} answers ${(input as { tone: string }).tone}.`,
    model,
  })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', { tone: 'briefly' }, { keepOpen: true })
  await session.root.send({ tone: 'at length' })
  expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
  expect(model.requests.map(({ instructions }) => instructions)).toEqual([
    'agent answers briefly.',
    'agent answers at length.',
  ])
})
