/** The connections over which a client follows events: none outlives the client, nor an attempt to listen that failed. */
import { expect, inject, test } from 'vitest'
import { connectInternal } from '../../src/client/client.ts'
import { EventHub } from '../../src/client/event-hub.ts'
import { newId } from '../../src/core/ids.ts'
import { openRedis } from '../../src/store/redis.ts'
import { newNamespace } from '../support/namespace.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { waitUntil } from '../support/wait-until.ts'

/** A client whose next connection is accepted, and served once the proxy is mended. */
async function clientBehind(proxy: TcpProxy, deadlineMs: number) {
  const silent = { ringer: { ring() {} } }
  const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace(), deadlineMs, ...silent })
  proxy.holdNew()
  return client
}

test('a client that could not listen to events has no connection left of it', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using client = await clientBehind(proxy, 200)
  const result = client.sessions.get(newId(0)).result()
  await expect(result).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/^Redis cannot be reached \(listening to events: no answer within 200 ms\)/),
  })
  expect(proxy.waiting).toBe(1)
  proxy.mend()
  await waitUntil('only the connection of the client is open', () => proxy.connections === 1)
})

test('a client that is closed while it begins to listen to events leaves no connection, and nobody waiting', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  const client = await clientBehind(proxy, 60_000)
  const told = client.sessions
    .get(newId(0))
    .result()
    .catch((error: unknown) => error)
  await waitUntil('its connection is on its way', () => proxy.waiting === 1)
  await client.close()
  expect(await told).toMatchObject({ code: 'client_closed' })
  proxy.mend()
  await waitUntil('none is open', () => proxy.connections === 0)
})

test('ends that nobody asks for are forgotten, the oldest first, also behind a session that is watched for long', async () => {
  const hub = new EventHub(newNamespace(), () => openRedis(inject('redisUrl')), 5_000)
  try {
    const [followed, ...ids] = Array.from({ length: 10_101 }, () => newId(0)) as [string, ...string[]]
    await hub.listen(followed, () => {})
    hub.track(followed)
    for (const id of ids) hub.track(id)
    expect(ids.filter((id) => hub.ended(id) !== undefined)).toEqual(ids.slice(-10_000))
    const again = newId(0)
    hub.track(again)
    hub.forget(again)
    expect(ids.filter((id) => hub.ended(id) !== undefined)).toHaveLength(9_999)
  } finally {
    await hub.stop()
  }
})
