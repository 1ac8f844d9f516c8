/** What model calls cost: of a reply, a worker, a session, a day; and what nobody knows the price of is never free. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { ModelReply } from '../../../src/core/definition/model.ts'
import { call, type ScriptedReply, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { rootKey, usageKey, workerKeys } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { withinOneHour } from '../../support/time/one-hour.ts'

const costing = (reply: ScriptedReply, costMicroUsd?: number): ModelReply => ({
  finishReason: 'stop',
  model: 'test/m',
  ...reply,
  usage: { inputTokens: 10, outputTokens: 2, ...(costMicroUsd !== undefined && { costMicroUsd }) },
})

const spawn = call('spawn_workers', { tasks: [{ kind: 'helper', input: 'help' }] }, 'c1')
const workers = () => ({
  boss: defineWorker({
    instructions: 'x',
    model: scriptedModel('test/boss', [costing(spawn, 700), costing(say('done'), 41)]),
    spawns: ['helper'],
  }),
  helper: defineWorker({
    instructions: 'x',
    model: scriptedModel('test/helper', [costing(say('helped'))]),
  }),
})

async function costsOfASession(): Promise<void> {
  await using troupe = await TestTroupe.start({ workers: workers() })
  const session = await troupe.create('boss', 'go')
  expect(await session.result()).toMatchObject({ status: 'completed' })
  const { session: whole, workers: rows } = await session.report()
  expect(whole.usage).toMatchObject({ costMicroUsd: 741, unpricedModelCalls: 1 })
  const [boss, helper] = rows as [(typeof rows)[0], (typeof rows)[0]]
  expect(boss.usage).toMatchObject({ costMicroUsd: 741 })
  expect(boss.usage.unpricedModelCalls).toBeUndefined()
  expect(helper.usage).toMatchObject({ costMicroUsd: 0, unpricedModelCalls: 1 })
  expect(await troupe.client.sessions.list()).toMatchObject([{ cost: { costMicroUsd: 741, unpricedModelCalls: 1 } }])
  const replies = (await troupe.history(boss.id)).filter(({ type }) => type === 'assistant')
  expect(replies).toMatchObject([{ usage: { costMicroUsd: 700 } }, { usage: { costMicroUsd: 41 } }])
  expect(await troupe.client.usage({ by: ['kind', 'model'] })).toEqual([
    {
      kind: 'boss',
      model: 'test/boss',
      modelCalls: 2,
      inputTokens: 20,
      outputTokens: 4,
      costMicroUsd: 741,
      unpricedModelCalls: 0,
    },
    {
      kind: 'helper',
      model: 'test/helper',
      modelCalls: 1,
      inputTokens: 10,
      outputTokens: 2,
      costMicroUsd: 0,
      unpricedModelCalls: 1,
    },
  ])
  expect(await troupe.client.usage({ by: ['day'], days: 2 })).toMatchObject([{ modelCalls: 3, costMicroUsd: 741 }])
  const hour = expect.stringMatching(/T\d\d:00Z$/)
  expect(await troupe.client.usage({ by: ['hour', 'kind'] })).toMatchObject([
    { hour, kind: 'boss', costMicroUsd: 741 },
    { hour, kind: 'helper', unpricedModelCalls: 1 },
  ])
  expect(Object.keys((await troupe.client.usage({ hours: 2 }))[0] ?? {}).slice(0, 3)).toEqual(['hour', 'kind', 'model'])
  await expect(troupe.client.usage({ by: ['hour'], days: 2 })).rejects.toThrow('by days or by hours')
  const [today = ''] = await troupe.redis.keys(`${troupe.tag}:usage:*`)
  expect(await troupe.redis.pttl(today)).toBeGreaterThan(399 * 86_400_000)
  // Two usages of yesterday, at one and at two o'clock; and a value that another program wrote.
  const yesterday = usageKey(troupe.tag, Number(today.split(':').at(-1)) - 1)
  await troupe.redis.hset(yesterday, {
    '1 boss test/m': '1 2 3 4 0',
    '2 boss test/m': '1 0 0 1 1',
    'boss test/m': '1 1 1 1 0',
  })
  const ofDays = { modelCalls: 2, inputTokens: 2, outputTokens: 3, costMicroUsd: 5, unpricedModelCalls: 1 }
  expect(await troupe.client.usage({ by: ['day'], days: 2 })).toMatchObject([ofDays, { modelCalls: 3 }])
  expect(await troupe.client.usage({ by: ['day'], days: 1 })).toMatchObject([{ modelCalls: 3 }])
  const ofHours = await troupe.client.usage({ by: ['hour'], hours: 48 })
  expect(ofHours.slice(0, 2)).toMatchObject([
    { hour: expect.stringMatching('T01:00Z') },
    { hour: expect.stringMatching('T02:00Z') },
  ])
  expect((await troupe.client.audit()).findings).toEqual([])
  await troupe.redis.hset(rootKey(troupe.tag, session.id), 'sessionCost', '742 1')
  expect((await troupe.client.audit()).findings).toMatchObject([{ invariant: 'I16', rule: 'cost' }])
}

describe('the cost of a session', () => {
  test('the cost of a session is the sum over its workers, is in lists, and says how many calls have no known price', () =>
    withinOneHour(costsOfASession))

  test('a cost that another program overwrote holds its worker back, and nobody takes it for poison', async () => {
    await using troupe = await TestTroupe.start({ workers: workers() })
    const session = await troupe.create('helper', 'go', { keepOpen: true })
    await session.result({ run: 1 })
    await troupe.redis.hset(workerKeys(troupe.tag, session.rootId).record, 'cost', 'much')
    await session.root.send('again')
    const { findings } = await troupe.client.audit()
    expect(findings).toMatchObject([{ invariant: 'key', what: expect.stringContaining('field cost') }])
    await troupe.redis.hset(workerKeys(troupe.tag, session.rootId).record, 'cost', '0 1')
    expect(await session.result({ run: 2 })).toMatchObject({ run: 2 })
  })
})
