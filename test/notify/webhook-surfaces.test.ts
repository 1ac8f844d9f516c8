/** Endpoints and deliveries over HTTP and at the command line: the same of both, and a secret once. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Api, startApi } from '../../src/api/api.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { contractProblem } from '../api/support/contract.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { Receiver } from './support/receiver.ts'

const workers = { echo: defineWorker({ receive: ({ value }, self) => self.reply(value) }) }
const webhooks = { allowPrivateAddresses: true, retryMs: 3_600_000 }

let troupe: TestTroupe
let api: Api
beforeAll(async () => {
  troupe = await TestTroupe.start({ workers, webhooks })
  const { redisUrl, namespace } = troupe
  api = await startApi({ redisUrl, namespace, port: 0, webhooks })
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await api.close()
  await troupe[Symbol.asyncDispose]()
})

async function http(method: string, path: string, body?: unknown) {
  const reply = await fetch(`${api.url}/v1/webhooks${path}`, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const read = reply.status === 204 ? null : await reply.json()
  const address = `/v1/webhooks${path}`.split('?', 1)[0] as string
  const problem = reply.status === 404 || read === null ? null : contractProblem(method, address, reply.status, read)
  if (problem !== null) throw new Error(problem)
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API answers
  return { status: reply.status, body: read as any }
}

async function command(...args: string[]) {
  vi.stubEnv('TROUPE_WEBHOOK_PRIVATE', 'allow')
  const [out, err]: [string[], string[]] = [[], []]
  using _out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0)
  using _err = vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text)) > 0)
  const code = await runCommandLine([
    'webhook',
    ...args,
    '--redis-url',
    troupe.redisUrl,
    '--namespace',
    troupe.namespace,
  ])
  return { code, out: out.join(''), err: err.join('') }
}

test('an endpoint lives over HTTP: added with its secret, listed without it, tested, rotated, removed', async () => {
  await using receiver = new Receiver()
  const url = await receiver.listen()
  const added = await http('POST', '', { url, kinds: ['echo'], include: 'result' })
  expect(added).toMatchObject({
    status: 201,
    body: { url, kinds: ['echo'], state: 'enabled', secret: expect.stringMatching(/^whsec_/) },
  })
  const { id, secret, ...settings } = added.body
  const { body: listed } = await http('GET', '')
  expect(listed.webhooks).toEqual([{ id, ...settings }])
  const { status, body: sent } = await http('POST', `/${id}/test`)
  expect({ status, type: sent.type }).toEqual({ status: 202, type: 'webhook.test' })
  await waitUntil(
    'it is delivered',
    async () => (await http('GET', `/deliveries/${sent.id}`)).body.state === 'delivered',
  )
  expect((await http('POST', `/deliveries/${sent.id}/redeliver`)).status).toBe(200)
  await waitUntil('it is delivered again', () => receiver.received.length === 2)
  const { body: page } = await http('GET', `/deliveries?webhook=${id}&limit=5`)
  expect(page.deliveries).toMatchObject([{ id: sent.id, webhookId: id, attempts: 1 }])
  const rotated = await http('POST', `/${id}/rotate`, {})
  expect(rotated.body.secret).not.toBe(secret)
  expect((await http('POST', `/${id}/disable`)).body).toMatchObject({ state: 'disabled' })
  expect((await http('POST', `/${id}/test`)).status).toBe(409)
  expect((await http('POST', `/${id}/enable`)).body).toMatchObject({ state: 'enabled' })
  expect(JSON.stringify((await http('GET', `/${id}`)).body)).not.toContain('whsec_')
  expect((await http('DELETE', `/${id}`)).status).toBe(204)
  expect((await http('GET', `/${id}`)).body).toMatchObject({ code: 'webhook_not_found' })
  expect((await http('GET', '/deliveries/unknown')).body).toMatchObject({ code: 'delivery_not_found' })
})

test('an endpoint lives at the command line, and a delivery that was refused is found and made again', async () => {
  await using receiver = new Receiver()
  const url = await receiver.listen(500)
  const added = await command('add', url, '--types', 'session.completed')
  expect(added).toMatchObject({ code: 0, err: expect.stringContaining('Nobody can show it again') })
  const id = /^webhook +(\S+)$/m.exec(added.out)?.[1] as string
  expect(added.out.trimEnd().split('\n').at(-1)).toMatch(/^whsec_\S+$/)
  await troupe.run('echo', 1)
  await waitUntil('it is refused', async () => (await command('list')).out.includes('answered with status 500'))
  const { out } = await command('deliveries', id, '--state', 'retrying', '--json')
  const { deliveryId, status, webhookId } = JSON.parse(out)
  expect({ status, webhookId }).toEqual({ status: 500, webhookId: id })
  expect((await command('redeliver', deliveryId)).out).toContain(`delivery ${deliveryId} is sent once more`)
  await waitUntil('it is accepted', async () => /^state +delivered$/m.test((await command('show', deliveryId)).out))
  expect(await command('test', id)).toMatchObject({ code: 0, out: 'accepted, with status 200\n' })
  expect((await command('rotate', id, '--at-once', '--json')).out).toContain('"type":"webhookRotated"')
  expect((await command('show', id)).out).not.toContain('whsec_')
  expect((await command('disable', id)).out).toContain(`troupe webhook enable ${id}`)
  expect(await command('test', id)).toMatchObject({ code: 1, err: expect.stringContaining('is disabled: enable it') })
  expect((await command('remove', id)).out).toBe(`endpoint ${id} is removed\n`)
  expect((await command('list')).err).toContain('There are no endpoints')
  expect(await command('add', url, '--types', 'session.done')).toMatchObject({ code: 2 })
})
