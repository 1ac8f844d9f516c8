/** What clients and nodes say that are given a wrong address, or a user who may not do what they need. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { connect, connectInternal, type Troupe } from '../../../src/client/client.ts'
import { startNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { ConfigError } from '../../../src/core/errors.ts'
import { newId } from '../../../src/core/ids.ts'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'

const workers = { echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) }

const starts: readonly [string, (redisUrl: string) => Promise<unknown>][] = [
  ['a client', (redisUrl) => connect({ redisUrl })],
  ['a node', (redisUrl) => startNode({ redisUrl, workers })],
]

test.each(starts)('%s with a wrong address is refused before a connection is opened', async (_, start) => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await expect(start(`${proxy.url}/abc`)).rejects.toThrow(ConfigError)
  await expect(start(`${proxy.url}/abc`)).rejects.toThrow(/database in the Redis URL/)
  expect(proxy.opened).toBe(0)
})

describe('a user', () => {
  let server: RedisServer
  let admin: Redis
  beforeAll(async () => {
    server = await RedisServer.start({ durability: 'none' })
    admin = openRedis(server.url)
  })
  afterAll(async () => {
    admin.disconnect()
    await server[Symbol.asyncDispose]()
  })

  const urlOf = (inbox: string) => server.url.replace('//', `//${inbox}:secret@`)
  const allow = (inbox: string, ...rules: string[]) =>
    admin.call('ACL', 'SETUSER', inbox, 'reset', 'on', '>secret', '~*', '&*', '+@all', ...rules)

  const id = newId(0)
  const calls: readonly [forbidden: string, what: string, call: (client: Troupe) => Promise<unknown>][] = [
    ['@scripting', 'post', (client) => client.workers.get(id).send('x')],
    ['rpush', 'create-sessions', (client) => client.sessions.create({ kind: 'echo', input: 1 })],
    ['hmget', 'checking the set-up', async () => {}],
    ['hmget', 'reading session', (client) => client.sessions.get(id).report()],
    ['lrange', 'reading mailbox', (client) => client.workers.get(id).mailbox()],
    [
      'xrange',
      'reading events',
      async (client) => (await client.sessions.create({ kind: 'echo', input: 1 })).events({ after: '0-0' }).next(),
    ],
  ]

  test.each(calls)('a user without the right to %s gets an error that says so: %s', async (forbidden, what, call) => {
    const connected = async () => connectInternal({ redisUrl: urlOf('some'), namespace: newNamespace() })
    await allow('some', ...(what === 'checking the set-up' ? [`-${forbidden}`] : []))
    const asking = async () => {
      await using client = await connected()
      await allow('some', `-${forbidden}`)
      await call(client)
    }
    await expect(asking()).rejects.toMatchObject({
      name: 'ConfigError',
      retryable: false,
      message: expect.stringMatching(
        new RegExp(
          `^Redis refused \\(${what}: (?:NOPERM|The user executing|ACL failure in script:) .*\\); its user may not do what troupe needs: allow it`,
        ),
      ),
    })
  })

  test('a user who may not even ping Redis gets an error that says so', async () => {
    await allow('mute', '-ping')
    await expect(connect({ redisUrl: urlOf('mute') })).rejects.toThrow(
      /^Redis at redis:\/\/mute:\*\*\*@.* refused \(NOPERM .*\); its user may not do what troupe needs/,
    )
  })
})
