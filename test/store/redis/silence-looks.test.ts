/** What is made of a connection at each look (SILENCE-1 to SILENCE-3), by connections and a clock of the test. */
import { EventEmitter } from 'node:events'
import { performance } from 'node:perf_hooks'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SilenceWatch } from '../../../src/store/redis/silence-watch.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now())
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const patience = { lookEveryMs: 100, askAfterMs: 500, lostAfterMs: 1_000 }

class Connection extends EventEmitter {
  readonly commandQueue = Object.assign([] as string[], { peekFront: () => undefined })
  readonly stream = { bytesRead: 0, destroy: vi.fn<(error: Error) => void>() }
  status = 'ready'
  pings = 0

  async ping(): Promise<never> {
    this.pings++
    throw new Error('lost again')
  }

  get isLost(): boolean {
    return this.stream.destroy.mock.calls.length > 0
  }
}

function connected(): Connection {
  const connection = new Connection()
  new SilenceWatch(patience).watch(connection as unknown as Redis)
  connection.emit('connect')
  return connection
}

/** Makes as many looks, with as many bytes before each. */
function pass(connection: Connection, looks: number, bytes = 0): void {
  for (let look = 0; look < looks; look++) {
    connection.stream.bytesRead += bytes
    vi.advanceTimersByTime(patience.lookEveryMs)
  }
}

test('a slow answer is not a missing one: the connection stays as long as bytes come (SILENCE-1)', () => {
  const connection = connected()
  connection.commandQueue.push('get')
  pass(connection, 50, 1)
  expect(connection.isLost).toBe(false)
  pass(connection, 9)
  expect(connection.isLost).toBe(false)
  pass(connection, 1)
  expect(connection.isLost).toBe(true)
  expect(connection.pings).toBe(0)
})

test('a connection that waits for no answer is asked after a silence, unless it is not ready to be (SILENCE-2)', () => {
  const connection = connected()
  connection.status = 'connect'
  pass(connection, 20)
  expect(connection.pings).toBe(0)
  connection.status = 'ready'
  pass(connection, 20, 1)
  expect(connection.pings).toBe(0)
  pass(connection, 5)
  expect(connection.pings).toBe(1)
  expect(connection.isLost).toBe(false)
})

test('the silence of a connection that was closed is not counted against the next one', () => {
  const connection = connected()
  connection.commandQueue.push('get')
  pass(connection, 9)
  connection.emit('close')
  connection.emit('connect')
  pass(connection, 9)
  expect(connection.isLost).toBe(false)
})

test('time in which nothing but this process went on does not count as silence (SILENCE-3)', () => {
  const connection = connected()
  connection.commandQueue.push('get')
  vi.setSystemTime(Date.now() + 60_000)
  pass(connection, 1)
  expect(connection.isLost).toBe(false)
})

test('no connection is checked any more when all are closed', () => {
  // Those of tests before this one in the same process are not counted.
  vi.clearAllTimers()
  const connection = connected()
  pass(connection, 3)
  connection.emit('close')
  connection.commandQueue.push('get')
  pass(connection, 30)
  expect(connection.isLost).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
  connection.emit('connect')
  pass(connection, 10)
  expect(connection.isLost).toBe(true)
})
