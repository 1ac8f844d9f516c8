/** The API while Redis is away, and when its own process dies. */
import { expect, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { followEvents } from '../../src/http/index.ts'
import { say } from '../../src/models/local/scripted-model.ts'
import { openRedis } from '../../src/store/redis/redis.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { ownPort } from '../support/redis/own-port.ts'
import { RedisServer } from '../support/redis/redis-server.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('the API answers 503 while Redis is away, and goes on when Redis is back', async () => {
  await using server = await RedisServer.start({})
  await using api = await startApi({ redisUrl: server.url, namespace: 'trouble', port: 0 })
  const ask = async (path: string) => {
    const reply = await fetch(`${api.url}${path}`)
    return { status: reply.status, code: ((await reply.json()) as { code?: string }).code }
  }
  expect(await ask('/readyz')).toEqual({ status: 200, code: undefined })
  const decide = async (key: string) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const body = JSON.stringify({ decisions: [{ id: '01900000-0000-8000-8000-000000000000', decision: 'deny' }] })
    const reply = await fetch(`${api.url}/v1/approvals/decide`, { method: 'POST', headers, body })
    return { status: reply.status, said: await reply.text() }
  }
  expect((await decide('before')).status).toBe(200)
  await server.kill()
  expect(await ask('/readyz')).toEqual({ status: 503, code: 'store_unavailable' })
  expect(await ask('/v1/sessions')).toEqual({ status: 503, code: 'store_unavailable' })
  expect((await ask('/healthz')).status).toBe(200)
  expect((await decide('one')).status).toBe(503)
  await server.restart()
  await waitUntil('it is ready again', async () => (await ask('/readyz')).status === 200)
  expect((await ask('/v1/sessions')).status).toBe(200)
  expect(await decide('one')).toMatchObject({ status: 200, said: expect.stringContaining('ask_not_found') })
})

test('the API answers 503 while Redis refuses its user, and goes on when Redis takes it again', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  const redis = openRedis(server.url)
  await using api = await startApi({ redisUrl: server.url, namespace: 'refused', port: 0 })
  const ask = async (path: string) => {
    const reply = await fetch(`${api.url}${path}`)
    return { status: reply.status, code: ((await reply.json()) as { code?: string }).code }
  }
  await redis.config('SET', 'requirepass', 'secret')
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal')
  const refused = { status: 503, code: 'config_invalid' }
  await waitUntil('it says so', async () => JSON.stringify(await ask('/readyz')) === JSON.stringify(refused))
  expect(await ask('/v1/sessions')).toEqual(refused)
  await redis.config('SET', 'requirepass', '')
  await waitUntil('it is ready again', async () => (await ask('/readyz')).status === 200)
  redis.disconnect()
})

test('a follower goes on at another server behind the last event that it got', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const { redisUrl, namespace } = troupe
  const port = await ownPort()
  const start = () => startApi({ redisUrl, namespace, port })
  const first = await start()
  const session = await troupe.create('echo', 1, { keepOpen: true })
  const positions: (string | undefined)[] = []
  const path = `/v1/sessions/${session.id}/events?after=0-0&transient=false`
  const following = (async () => {
    for await (const { position } of followEvents({ url: first.url, path })) positions.push(position)
  })()
  await waitUntil('the first run is followed', () => positions.length >= 3)
  await first.close()
  await session.root.send(2)
  await using _ = await start()
  await session.close()
  await following
  const all: string[] = []
  for await (const { id } of session.events({ after: '0-0', transient: false })) all.push(id)
  expect(positions).toEqual(all)
})

test('another server knows what was done under a key: a fork, an undo and a redo, a summary, an endpoint', async () => {
  const agent = defineWorker({ instructions: 'x', model: recordedModel('test/m', () => say('so it is')) })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const { redisUrl, namespace } = troupe
  const session = await troupe.create('agent', 'tell', { keepOpen: true })
  await session.result({ run: 1 })
  await waitUntil('it rests', async () => (await session.root.report()).status === 'idle')
  const [one, worker] = [`/v1/sessions/${session.id}`, `/v1/workers/${session.rootId}`]
  const endpoint = { url: 'https://example.com/hook' }
  const acts: readonly (readonly [path: string, body?: object])[] = [
    [`${one}/fork`],
    [`${worker}/undo`],
    [`${worker}/redo`],
    [`${worker}/compact`],
    ['/v1/webhooks', endpoint],
  ]
  const said: unknown[][] = []
  const lengths: number[] = []
  for (let server = 0; server < 2; server++) {
    await using api = await startApi({ redisUrl, namespace, port: 0 })
    const headers = { 'idempotency-key': 'one', 'content-type': 'application/json' }
    const post = async (path: string, body: object = {}) =>
      (await fetch(`${api.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    const answers: unknown[] = []
    for (const act of acts) answers.push(await post(...act))
    said.push(answers)
    lengths.push((await session.root.report()).historyLength)
  }
  expect(said[0]).toMatchObject([
    { workerId: expect.any(String) },
    { changed: 'undone' },
    { changed: 'redone' },
    {},
    { secret: expect.stringMatching(/^whsec_/) },
  ])
  expect(said[1]).toEqual(said[0])
  expect(lengths[1]).toBe(lengths[0])
  expect(await troupe.client.sessions.list()).toHaveLength(2)
  expect(await troupe.client.webhooks.list()).toHaveLength(1)
})
