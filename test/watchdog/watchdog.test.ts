/** The last words of a node whose process ends, and what is left of a watchdog that was stopped. */
import { inspect } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { Watchdog, type WatchedNode } from '../../src/watchdog/watchdog.ts'
import { Place } from '../store/support/place.ts'

afterEach(() => void vi.useRealTimers())

/** The watchdog of node-a, which runs one worker. */
async function watched(place: Place, more: Partial<WatchedNode> = {}) {
  const { id: sessionId, root: workerId } = await place.create()
  const { token } = (await place.node().claim()).assignment
  const turn = { partition: 0, workerId, sessionId, kind: 'echo', token, isIsolated: false }
  const watchdog = new Watchdog({
    nodeId: 'node-a',
    redisUrl: place.redisUrl,
    namespace: place.namespace,
    places: [0],
    policy: place.policy,
    isJson: true,
    endIfBlocked: true,
    currentCall: () => ({ workerId, sessionId, kind: 'echo', what: 'receive' }),
    turns: () => [turn],
    onThreadLost() {},
    ...more,
  })
  return { watchdog, workerId }
}

const unreadable = {
  [inspect.custom]() {
    throw new Error('nobody reads this')
  },
}

test.each<[string, unknown, string]>([
  ['an error', new TypeError('no such thing'), 'no code caught: TypeError: no such thing'],
  ['what is no error', { code: 7 }, 'no code caught: { code: 7 }'],
  ['nothing', undefined, 'no code caught: undefined'],
  ['what cannot be read', unreadable, 'no code caught: a value that cannot be read'],
])(
  'a process that ends by %s says so in the record of its worker before it ends (WATCHDOG-1)',
  async (_, thrown, words) => {
    await using place = await Place.open()
    const { watchdog, workerId } = await watched(place)
    watchdog.noteUncaught(thrown)
    watchdog.noteExit(1)
    expect(await place.record(workerId)).toMatchObject({ status: 'queued', lastWords: expect.stringContaining(words) })
    await watchdog.stop()
  },
)

test('an error that was survived is not what a process ends by later (WATCHDOG-3)', async () => {
  await using place = await Place.open()
  const { watchdog, workerId } = await watched(place)
  vi.useFakeTimers()
  watchdog.noteUncaught(new Error('survived'))
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
  watchdog.noteExit(3)
  const { lastWords } = await place.record(workerId)
  expect(lastWords).toContain('something called process.exit(3)')
  await watchdog.stop()
})

test('a watchdog that was stopped listens to its process no longer, and says nothing when it ends (WATCHDOG-2)', async () => {
  await using place = await Place.open()
  const names = ['exit', 'uncaughtExceptionMonitor'] as const
  const counts = () => names.map((name) => process.listenerCount(name))
  const before = counts()
  const [one, two] = [await watched(place), await watched(place, { nodeId: 'node-b' })]
  // All watchdogs of a process share one listener.
  expect(counts()).toEqual(before.map((count) => count + 1))
  await one.watchdog.stop()
  expect(counts()).toEqual(before.map((count) => count + 1))
  await two.watchdog.stop()
  expect(counts()).toEqual(before)
  expect(await place.record(one.workerId)).not.toHaveProperty('lastWords')
})
