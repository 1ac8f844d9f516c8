/** `testTroupe` starts a Redis, a node and a client in one line, and leaves nothing behind. */
import { Redis } from 'ioredis'
import { expect, inject, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { say, testTroupe } from '../../src/testing/index.ts'

const greeter = defineWorker({ receive: (message, self) => self.reply(`hello ${String(message.value)}`) })
const clerk = defineWorker({ instructions: 'Sell.' })

test('TestTroupe runs workers and scripted agents on its own Redis, which ends with the test', async () => {
  let url: string
  {
    await using troupe = await testTroupe({ workers: { greeter, clerk }, replies: { clerk: [say('sold')] } })
    url = troupe.redisUrl
    expect(await troupe.run('greeter', 'Ada')).toMatchObject({ status: 'completed', value: 'hello Ada' })
    expect(await troupe.run('clerk', 'tea')).toMatchObject({ value: { text: 'sold' } })
    expect(troupe.node.kinds).toEqual(['greeter', 'clerk'])
    const sessions = await troupe.client.sessions.list()
    expect(sessions).toHaveLength(2)
  }
  const gone = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
  gone.on('error', () => {})
  await expect(gone.connect()).rejects.toThrow(/closed|refused/i)
})

test('TestTroupe leaves no key in a given Redis', async () => {
  const redisUrl = inject('redisUrl')
  await using redis = {
    client: new Redis(redisUrl),
    [Symbol.asyncDispose]: async () => void (await redis.client.quit()),
  }
  let namespace: string
  {
    await using troupe = await testTroupe({ workers: new Map([['greeter', greeter]]), redisUrl })
    namespace = troupe.namespace
    await troupe.run('greeter', 'Ada')
    expect(await redis.client.keys(`{${namespace}.0}*`)).not.toEqual([])
  }
  expect(await redis.client.keys(`*${namespace}*`)).toEqual([])
})

test('TestTroupe refuses replies for a kind that is no agent', async () => {
  await expect(testTroupe({ workers: { greeter }, replies: { greeter: [say('x')] } })).rejects.toThrow(
    'replies names kind "greeter", which is no agent of these workers.',
  )
})
