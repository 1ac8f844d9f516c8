/** SILENCE-1: connections are lost without a word while Redis can be reached: its host lost power, its address moved. */
import { describe, expect, inject, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents, awaitResult } from '../../support/time/await-session.ts'
import { patienceMs } from '../../support/time/patience.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

describe('when all connections were lost without a word', { concurrent: true }, () => {
  test('a node opens each connection again after a silent loss, and works', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    await troupe.startNode({ echo }, { redisUrl: proxy.url })
    expect(await troupe.run('echo', 1)).toMatchObject({ value: 1 })
    const { connections: lost, opened: before } = proxy
    proxy.forget()
    const session = await troupe.create('echo', 2)
    expect(await awaitResult(session)).toMatchObject({ value: 2 })
    await waitUntil('each was opened again', () => proxy.opened >= before + lost)
  })

  test('a follower of events goes on after a silent loss, and ends', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    const options = { redisUrl: proxy.url, namespace: troupe.namespace, deadlineMs: patienceMs }
    await using far = await TestTroupe.connect(options)
    const session = await troupe.create('echo', 1)
    const events = awaitEvents(far.client.sessions.get(session.id), { after: '0-0' })
    // Before the first event comes it listens to what will come.
    const seen = [(await events.next()).value?.type]
    const following = (async () => {
      for await (const event of events) seen.push(event.type)
    })()
    proxy.forget()
    await troupe.startNode({ echo })
    await session.result()
    await following
    expect(seen.at(-1)).toBe('session.completed')
  })
})
