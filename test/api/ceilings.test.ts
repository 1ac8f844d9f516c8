/** Tokens that ask for no more than their ceiling. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ceiling, underCeiling } from '../../src/api/guard/ceiling.ts'
import { entryOf } from '../../src/api/guard/tokens.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { TestApi } from './support/test-api.ts'

const ceiling: Ceiling = {
  kinds: ['echo'],
  models: ['test/small'],
  limits: { tokens: 1_000, workers: 5 },
  permissions: { tools: ['look', 'list'], folder: '/srv/docs', send: 'family' },
}
const tokenOf = (name: string) => name.padEnd(40, 'x')
const bearer = (name: string) => ({ authorization: `Bearer ${tokenOf(name)}` })

let api: TestApi
beforeAll(async () => {
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  const tokens = [
    entryOf(tokenOf('free'), { name: 'free', rights: ['operate'] }, 'test'),
    entryOf(tokenOf('bound'), { name: 'bound', rights: ['operate'], ceiling }, 'test'),
  ]
  api = await TestApi.start({ echo, other: echo }, { tokens })
})
afterAll(() => api[Symbol.asyncDispose]())

test('what a request says nothing of is what the ceiling says, if that is below the default', async () => {
  const { body } = await api.post('/v1/sessions', { kind: 'echo', input: 1 }, { ...bearer('bound'), prefer: 'wait=30' })
  const { session, workers } = (await api.get(`/v1/sessions/${body.sessionId}`, bearer('bound'))).body
  expect(session.limits).toMatchObject({ tokens: 1_000, workers: 5, modelCalls: 500 })
  expect(workers[0].permissions).toEqual(ceiling.permissions)
  const high: Ceiling = { limits: { tokens: 1e12 } }
  expect(underCeiling({ name: 'x', ceiling: high }, { kind: 'echo', limits: {} }).limits).toEqual({ tokens: 2_000_000 })
})

test('permissions are those that both allow', () => {
  const asked = { kind: 'echo', limits: { tokens: 5 }, permissions: { tools: ['list', 'pay'], folder: '/srv/docs/a' } }
  expect(underCeiling({ name: 'bound', ceiling }, asked)).toEqual({
    kind: 'echo',
    limits: { tokens: 5, workers: 5 },
    permissions: { tools: ['list'], folder: '/srv/docs/a', send: 'family' },
  })
  expect(underCeiling({ name: 'free' }, asked)).toBe(asked)
})

test('what is above the ceiling is refused, however it is asked for; another token may', async () => {
  const create = async (name: string, body: object) => (await api.post('/v1/sessions', body, bearer(name))).body
  const { sessionId, workerId } = await create('free', { kind: 'echo', input: 1, keepOpen: true })
  const requests: readonly (readonly [method: string, path: string, body: object])[] = [
    ['POST', '/v1/sessions', { kind: 'other' }],
    ['POST', '/v1/sessions', { kind: 'echo', limits: { tokens: 1_001 } }],
    ['POST', '/v1/sessions', { kind: 'echo', permissions: { folder: '/srv/docs/../private' } }],
    ['PATCH', `/v1/sessions/${sessionId}/limits`, { tokens: 1_001 }],
    ['POST', `/v1/sessions/${sessionId}/retry`, { limits: { tokens: 1_001 } }],
    ['POST', `/v1/sessions/${sessionId}/fork`, {}],
    ['POST', `/v1/workers/${workerId}/fork`, {}],
    ['POST', `/v1/workers/${workerId}/configure`, { model: 'test/big' }],
    ['POST', '/v1/dead/1-0/redrive', { newSession: true }],
  ]
  for (const [method, path, body] of requests) {
    const bound = await api.call(method, path, body, bearer('bound'))
    expect({ path, status: bound.status, code: bound.body.code }).toEqual({
      path,
      status: 403,
      code: 'ceiling_exceeded',
    })
    expect((await api.call(method, path, body, bearer('free'))).body?.code).not.toBe('ceiling_exceeded')
  }
  expect((await api.call('PATCH', `/v1/sessions/${sessionId}/limits`, { tokens: 9 }, bearer('bound'))).status).toBe(200)
})
