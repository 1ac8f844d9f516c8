/** Requests that never left, since there was no connection to the provider: nobody was asked, and they do not count (OPEN-REQUEST-3). */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { type AgentDefinition, defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { Model } from '../../../../src/core/definition/model.ts'
import { rawProvider } from '../../../models/support/raw-provider.ts'
import { openAt, type Surface, surfaces } from '../../../models/support/surfaces.ts'
import { ownPort } from '../../../support/redis/own-port.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'

const chat = surfaces[0] as Surface
const policy = { modelBackoffMs: 1, retries: 2 }

/** How a run fails whose session may make this number of calls, and what it has used then. */
async function failureOf(definition: Partial<AgentDefinition> & { model: Model }, modelCalls: number) {
  const agent = defineWorker({ instructions: 'x', ...definition })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy })
  const session = await troupe.create('agent', 'one', { limits: { modelCalls } })
  const result = await session.result()
  expect((await troupe.client.audit()).findings).toEqual([])
  return {
    code: result.status === 'failed' ? result.failure.code : null,
    usage: (await session.report()).session.usage,
  }
}

test('a request to an address where nobody listens uses up no model call of its session', async () => {
  const model = openAt(chat, `http://127.0.0.1:${await ownPort()}`)
  const { code, usage } = await failureOf({ model }, 1)
  expect(code).toBe('model_unavailable')
  expect(usage).toMatchObject({ modelCalls: 0 })
  expect(usage).not.toHaveProperty('failedModelCalls')
})

test('a request whose time is over while its connection is still being made uses up no model call', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const model = openAt(chat, `https://127.0.0.1:${(silent.address() as AddressInfo).port}`)
  const { code, usage } = await failureOf({ model, limits: { modelIdleMs: 30 } }, 1)
  silent.close()
  expect(code).toBe('deadline_exceeded')
  expect(usage).toMatchObject({ modelCalls: 0 })
})

test('a request that left counts, although its provider said nothing, or ended the connection', async () => {
  let asked = 0
  await using provider = await rawProvider((response) => {
    if (++asked === 2) response.destroy()
  })
  const { code, usage } = await failureOf({ model: openAt(chat, provider.url), limits: { modelIdleMs: 200 } }, 2)
  expect(code).toBe('budget_exceeded')
  expect(usage).toMatchObject({ modelCalls: 0, failedModelCalls: 2 })
})
