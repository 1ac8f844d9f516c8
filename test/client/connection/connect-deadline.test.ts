/**
 * How long a client tries to connect: for the given time, or else for its default; and how soon its connections end if Redis stands still.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { connect } from '../../../src/client/client.ts'
import { openRedis, withDeadline } from '../../../src/store/redis/redis.ts'

const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] as const
beforeEach(async () => {
  // One real timer looks at all calls of the process. It ends with this call, so that the calls of the test begin a fake one.
  await withDeadline(new Promise(() => {}), 1).catch(() => {})
  vi.useFakeTimers({ toFake: [...toFake] })
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now())
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test.each([
  ['by default', {}, 5_000],
  ['for longer than that', { deadlineMs: 12_000 }, 12_000],
  ['for less', { deadlineMs: 1_000 }, 1_000],
])('a connection to a port where nobody listens is tried %s', async (_, options, ms) => {
  let error: unknown
  const connecting = connect({ redisUrl: 'redis://127.0.0.1:1', ...options }).catch(
    (thrown: unknown) => (error = thrown),
  )
  await vi.advanceTimersByTimeAsync(ms - 500)
  expect(error).toBeUndefined()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(error).toMatchObject({ code: 'store_unavailable' })
  await connecting
})

/** A Redis that stands still: only its kernel takes what is sent to it, also the end of a connection. */
async function frozenRedis() {
  const accepted = Promise.withResolvers<Socket>()
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, accepted.resolve).listen(0, '127.0.0.1')
  onTestFinished(async () => {
    ;(await accepted.promise).destroy()
    server.close()
  })
  await once(server, 'listening')
  return { redisUrl: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, accepted: accepted.promise }
}

test.each([400, 1_000, 12_000])(
  'a connection to a Redis that stands still is tried for at most %i ms',
  async (deadlineMs) => {
    const { redisUrl, accepted } = await frozenRedis()
    let error: unknown
    const connecting = connect({ redisUrl, deadlineMs }).catch((thrown: unknown) => (error = thrown))
    await accepted
    await vi.advanceTimersByTimeAsync(deadlineMs / 2)
    expect(error).toBeUndefined()
    await vi.advanceTimersByTimeAsync(deadlineMs / 2 + 100)
    expect(error).toMatchObject({ code: 'store_unavailable' })
    await connecting
  },
)

test('a connection that ends does not keep a process for long if Redis stands still', async () => {
  const { redisUrl, accepted } = await frozenRedis()
  const redis = openRedis(redisUrl)
  const connected = once(redis, 'connect')
  await accepted
  await connected
  const { stream } = redis
  redis.disconnect()
  expect(stream.destroyed).toBe(false)
  await vi.advanceTimersByTimeAsync(500)
  expect(stream.destroyed).toBe(true)
})
