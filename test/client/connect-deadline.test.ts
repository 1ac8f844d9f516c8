/** How long a client tries to connect: as long as it is told, else a time of its own. */
import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connect } from '../../src/client/client.ts'

const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] as const
beforeEach(() => {
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
])('where nobody listens it tries %s', async (_, options, ms) => {
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
