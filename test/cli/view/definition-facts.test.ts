/** What lists of kinds say of a definition: the name of its model, and in words what limits its runs. */
import { expect, test } from 'vitest'
import { definitionFacts } from '../../../src/cli/view/definition-facts.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'

const reply = (): null => null

test.each([
  [undefined, null],
  ['openai/m', 'openai/m'],
  [{ id: 'own/m', reply }, 'own/m'],
  [{ provider: 'openai', modelId: 'm' }, 'openai/m'],
  [{ modelId: 'm' }, '?/m'],
  [{ reply }, 'its own'],
])('a definition with the model %j is shown with %j', (model, name) => {
  const facts = definitionFacts({ instructions: 'x', ...(model !== undefined && { model }) } as never)
  expect(facts).toMatchObject({ sort: 'agent', model: name })
})

test('a definition says in words how many of its runs go on at once, and begin within a time', () => {
  const runsOf = (limits: object) => definitionFacts(defineWorker({ receive() {}, ...limits })).runs
  expect(runsOf({})).toEqual([])
  expect(runsOf({ concurrency: { most: 2 }, rate: { most: 5, perMs: 60_000 } })).toEqual(['2 at once', '5 in 1m'])
  expect(runsOf({ concurrency: { most: 1, key: 'customer' } })).toEqual(['1 at once for each customer'])
  expect(runsOf({ concurrency: { most: 1, key: () => 'x' } })).toEqual(['1 at once for each key'])
})
