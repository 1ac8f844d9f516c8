/** SILENCE-1: connections are lost without a word while Redis can be reached: its host lost power, its address moved. */
import { describe, expect, inject, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const msMax = 120_000

describe('when all connections were lost without a word', { concurrent: true, timeout: 2 * msMax }, () => {
  test('a node opens each connection again after a silent loss, and works', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    await troupe.startNode({ echo }, { redisUrl: proxy.url })
    expect(await troupe.run('echo', 1)).toMatchObject({ value: 1 })
    const { connections: lost, opened: before } = proxy
    proxy.forget()
    const session = await troupe.create('echo', 2)
    expect(await session.result({ signal: AbortSignal.timeout(msMax) })).toMatchObject({ value: 2 })
    await waitUntil('each was opened again', () => proxy.opened >= before + lost, msMax)
  })

  test('a follower of events goes on after a silent loss, and ends', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    const options = { redisUrl: proxy.url, namespace: troupe.namespace, deadlineMs: msMax }
    await using far = await TestTroupe.connect(options)
    const session = await troupe.create('echo', 1)
    const events = far.client.sessions.get(session.id).events({ after: '0-0', signal: AbortSignal.timeout(msMax) })
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
