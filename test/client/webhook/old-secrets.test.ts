/** The secrets that an endpoint had, with which requests are signed for a while. */
import { expect, test, vi } from 'vitest'
import type { EndpointRecord } from '../../../src/core/webhook/endpoint.ts'
import { EndpointStore } from '../../../src/store/endpoint-store.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

test('an endpoint that is rotated again and again keeps the five newest of its old secrets, and none that has ended', async () => {
  await using troupe = await TestTroupe.connect()
  const { webhooks } = troupe.client
  const writes = vi.spyOn(EndpointStore.prototype, 'write')
  const stored = () => writes.mock.lastCall?.[2] as EndpointRecord
  const { id, secret } = await webhooks.add({ url: 'https://example.com/' })
  const secrets = [secret]
  for (let times = 0; times < 7; times++) secrets.unshift((await webhooks.rotate(id)).secret)
  expect(stored().previous.map((one) => one.secret)).toEqual(secrets.slice(1, 6))
  const store = writes.mock.contexts[0] as EndpointStore
  const before = await store.get(id)
  await store.write(id, before, { ...stored(), previous: [{ secret: 'whsec_ended', until: 1 }] }, 9)
  await webhooks.rotate(id)
  expect(stored().previous.map((one) => one.secret)).toEqual(secrets.slice(0, 1))
})
