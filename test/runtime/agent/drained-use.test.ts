/** Model calls whose node drains: what is broken off counts, wherever the run goes on, and nothing new is begun. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

test('a model call that is broken off when the drain time of its node is over counts as one that failed', async () => {
  const asked = Promise.withResolvers<void>()
  const model = recordedModel('test/m', (_request, number) => {
    asked.resolve()
    return number === 1 ? new Promise<Error>(() => {}) : say('Done.')
  })
  const agent = defineWorker({ instructions: 'x', model })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { drainMs: 1 } })
  const session = await troupe.create('agent')
  await asked.promise
  await troupe.nodes[0]?.stop()
  expect((await session.root.report()).usage).toMatchObject({ modelCalls: 0, failedModelCalls: 1 })
  await troupe.startNode({ agent })
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
  expect((await session.report()).session.usage).toMatchObject({ modelCalls: 1, failedModelCalls: 1 })
  expect((await troupe.client.audit({ sessionId: session.id })).findings).toEqual([])
})

test('a node that drains while it prepares a request makes no model call: another node does (PERMIT-6)', async () => {
  let stopping: Promise<void> | undefined
  const instructions = () => {
    stopping ??= troupe.nodes[0]?.stop()
    return 'x'
  }
  const model = recordedModel('test/m', [say('Done.')])
  const agent = defineWorker({ instructions, model })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'go')
  await waitUntil('the node drains', () => stopping !== undefined)
  await stopping
  expect(model.requests).toEqual([])
  await troupe.startNode({ agent })
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
})

test.each(['pure', 'once'] as const)(
  'a node that drains during a model call does not begin the %s call of its reply: another node does (PERMIT-6)',
  async (effect) => {
    let stopping: Promise<void> | undefined
    let runs = 0
    const look = defineTool({ name: 'look', description: 'Looks.', effect, approval: 'never', run: () => ++runs })
    const model = recordedModel('test/m', (_request, number) => {
      stopping ??= troupe.nodes[0]?.stop()
      return number === 1 ? call('look') : say('Done.')
    })
    const agent = defineWorker({ instructions: 'x', model, tools: [look] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await waitUntil('the node drains', () => stopping !== undefined)
    await stopping
    expect([model.requests.length, runs]).toEqual([1, 0])
    await troupe.startNode({ agent })
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(runs).toBe(1)
  },
)
