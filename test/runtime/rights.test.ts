/** The rights that docs/operations.md gives a Redis user are enough for all that nodes and clients do. */
import { readFileSync } from 'node:fs'
import { Queue, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { connect, connectInternal } from '../../src/client/client.ts'
import { startNode } from '../../src/compose.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { RedisServer } from '../support/redis/redis-server.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')

const workers = {
  parent: defineWorker({
    spawns: ['child'],
    receive(message, self) {
      if (message.kind === 'input') for (const number of [1, 2, 3]) self.spawn('child', number)
      else if (self.openChildren === 0) self.reply('all are back')
    },
  }),
  child: defineWorker({
    receive: (message, self) => (message.kind === 'input' ? self.after(10, message.value) : self.reply(message.value)),
  }),
  waits: defineWorker({ receive: (_, self) => self.after(600_000, null) }),
}

test('a user who lacks a command is refused by clients and nodes before they begin', async () => {
  await using troupe = await TestTroupe.connect()
  const { namespace } = troupe
  const user = `less-${namespace}`
  await troupe.redis.acl('SETUSER', user, 'on', '>secret', '~*', '&*', '+@all', '-ltrim')
  const { href: redisUrl } = Object.assign(new URL(troupe.redisUrl), { username: user, password: 'secret' })
  try {
    for (const start of [() => connect({ redisUrl, namespace }), () => startNode({ redisUrl, namespace, workers })])
      await expect(start()).rejects.toThrow(/^the Redis user may not call LTRIM, /)
  } finally {
    await troupe.redis.acl('DELUSER', user)
  }
})

test('a user with the documented rights runs, watches, cancels, audits and prunes', async () => {
  await using troupe = await TestTroupe.connect()
  const { namespace } = troupe
  const [, rights = ''] = /ACL SETUSER troupe (.*)$/m.exec(operations) ?? []
  expect(rights).toContain('~{troupe.*}*')
  expect(rights).toContain('-fcall')
  const user = `own-${namespace}`
  await troupe.redis.acl('SETUSER', user, ...rights.replaceAll('{troupe.', `{${namespace}.`).split(' '))
  const { href: redisUrl } = Object.assign(new URL(troupe.redisUrl), { username: user, password: 'secret' })
  try {
    await using node = await startNode({ redisUrl, namespace, workers })
    await using client = await connect({ redisUrl, namespace })
    const session = await client.sessions.create({ kind: 'parent', input: null, keepOpen: true })
    const types: string[] = []
    const following = (async () => {
      for await (const { type } of session.events({ after: '0-0' })) types.push(type)
    })()
    expect(await session.result({ run: 1 })).toMatchObject({ value: 'all are back' })
    await session.root.send('again')
    expect(await session.result({ run: 2 })).toMatchObject({ value: 'all are back' })
    const other = await client.sessions.create({ kind: 'waits', input: null })
    await waitUntil('it waits', async () => (await other.root.report()).status === 'parked')
    await other.cancel()
    expect(await other.result()).toMatchObject({ status: 'cancelled' })
    await session.close()
    await following
    expect(types.at(-1)).toBe('session.completed')
    expect([await client.nodes(), (await client.audit()).findings]).toEqual([
      [expect.objectContaining({ id: node.id })],
      [],
    ])
    await client.health()
    expect(await client.sessions.prune({ olderThanMs: 0 })).toBe(2)
    const log = (await troupe.redis.acl('LOG')) as unknown[][]
    // To Redis 6.2 CLIENT is one command, and dangerous: connections have no names there.
    expect(
      log.filter(
        (refused) => refused.includes(user) && !refused.some((word) => word === 'client' || word === 'function|delete'),
      ),
    ).toEqual([])
  } finally {
    await troupe.redis.acl('DELUSER', user)
  }
  await expectInvariants(troupe.redis, namespace)
})

/** A user of this name with the rights of the documented line, in this namespace. */
async function documented(troupe: TestTroupe, name: string) {
  const { namespace, redis } = troupe
  const [, rights = ''] = new RegExp(`ACL SETUSER ${name} (.*)$`, 'm').exec(operations) ?? []
  const user = `${name}-${namespace}`
  await redis.acl('SETUSER', user, ...rights.replaceAll('{troupe.', `{${namespace}.`).split(' '))
  const { href: redisUrl } = Object.assign(new URL(troupe.redisUrl), { username: user, password: 'secret' })
  return {
    redisUrl,
    async refused(): Promise<unknown[][]> {
      const log = (await redis.acl('LOG', 1_000)) as unknown[][]
      // Health asks whether the user may change functions, and shall not.
      return log.filter((entry) => entry.includes(user) && !entry.includes('function|delete'))
    },
    async [Symbol.asyncDispose]() {
      await redis.acl('DELUSER', user)
    },
  }
}

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('a producer with the documented rights adds jobs and reads their outcomes, and reaches nothing else', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await using user = await documented(troupe, 'producer')
  const options = { connection: { url: user.redisUrl }, prefix: `{${troupe.namespace}.0}:q` }
  const queue = new Queue('submit', options)
  const events = new QueueEvents('submit', options)
  await events.waitUntilReady()
  const job = await queue.add('x', { kind: 'echo', input: 1 }, { jobId: 'order-1' })
  const { sessionId } = (await job.waitUntilFinished(events)) as { sessionId: string }
  expect(await troupe.client.sessions.get(sessionId).result()).toMatchObject({ value: 1 })
  await Promise.all([queue.close(), events.close()])
  expect(await user.refused()).toEqual([])
  const redis = new Redis(user.redisUrl)
  const { namespace } = troupe
  for (const call of [
    redis.get(`{${namespace}.0}:meta`),
    redis.hset(`{${namespace}.0}:meta`, 'schema', 9),
    redis.eval(`return redis.call('KEYS', '*')`, 0),
    redis.publish(`{${namespace}.0}:cancelled`, 'x'),
  ])
    await expect(call).rejects.toThrow(/NOPERM|ACL|user executing/)
  redis.disconnect()
})

test('a viewer with the documented rights sees everything and changes nothing', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await using user = await documented(troupe, 'viewer')
  const session = await troupe.create('echo', 1, { keepOpen: true })
  await session.result({ run: 1 })
  const open = await troupe.create('echo', 1, { keepOpen: true })
  await open.result({ run: 1 })
  {
    const { namespace } = troupe
    await using viewer = await connectInternal({ redisUrl: user.redisUrl, namespace, purpose: 'look' })
    expect(await viewer.sessions.list()).toHaveLength(2)
    const seen = viewer.sessions.get(session.id)
    expect(await seen.result({ run: 1 })).toMatchObject({ value: 1 })
    expect(await seen.report()).toMatchObject({ workers: [{ kind: 'echo' }] })
    expect(await viewer.workers.get(session.rootId).history()).not.toEqual([])
    expect((await viewer.audit()).findings).toEqual([])
    const following = (async () => {
      for await (const { type } of seen.events({ after: '0-0' })) if (type === 'session.completed') return type
      return null
    })()
    await session.close()
    expect(await following).toBe('session.completed')
    await viewer.health()
    // Health tries a write, to see whether Redis takes it.
    const refused = (await user.refused()).filter((entry) => !entry.includes('client') && !entry.includes('set'))
    expect(refused).toEqual([])
    await expect(viewer.workers.get(open.rootId).send('more')).rejects.toThrow(/may not|refused|NOPERM|permission/)
    await expect(viewer.sessions.create({ kind: 'echo', input: 1 })).rejects.toThrow(
      /may not|refused|NOPERM|permission/,
    )
  }
  expect(await session.report()).toMatchObject({ session: { state: 'completed' } })
})

test('an API that is read-only works with the rights of a viewer, and refuses each change by itself', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await using user = await documented(troupe, 'viewer')
  const { id } = await troupe.create('echo', 1, { keepOpen: true })
  const { redisUrl } = user
  await using api = await startApi({ redisUrl, namespace: troupe.namespace, port: 0, isReadOnly: true })
  const ask = async (method: string, path: string, body?: object) => {
    const init = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const reply = await fetch(`${api.url}/v1/${path}`, { method, ...(body && init) })
    const { code, detail } = (await reply.json()) as { readonly code?: string; readonly detail?: string }
    return { status: reply.status, code, detail }
  }
  for (const [method, path, body] of [
    ['POST', 'sessions', { kind: 'echo', input: 1 }],
    ['POST', `sessions/${id}/cancel`, {}],
    ['PATCH', `sessions/${id}/limits`, { tokens: 1 }],
    ['POST', 'pause', {}],
    ['DELETE', `webhooks/${id}`],
  ] as const)
    expect(await ask(method, path, body)).toEqual({
      status: 403,
      code: 'right_missing',
      detail: 'this server was started with --read-only, and changes nothing.',
    })
  expect((await ask('GET', `sessions/${id}`)).status).toBe(200)
  expect((await ask('POST', 'tickets', { path: '/v1/events' })).status).toBe(201)
  expect((await user.refused()).filter((entry) => !entry.includes('client'))).toEqual([])
})

test('users of two namespaces share no code: neither loads, replaces, flushes or calls functions, nor sees names of keys', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  for (const name of ['troupe', 'producer', 'viewer']) {
    await using user = await documented(troupe, name)
    const redis = new Redis(user.redisUrl)
    const library = "#!lua name=mine\nredis.register_function('mine', function() return 1 end)"
    for (const call of [
      redis.call('FUNCTION', 'LOAD', 'REPLACE', library),
      redis.call('FUNCTION', 'FLUSH'),
      redis.call('FUNCTION', 'LIST'),
      redis.call('FCALL', 'mine', 0),
      redis.call('SCRIPT', 'FLUSH'),
      redis.call('SCRIPT', 'KILL'),
      redis.call('RANDOMKEY'),
      redis.call('KEYS', '*'),
      redis.call('PUBSUB', 'CHANNELS'),
      redis.call('SWAPDB', 0, 1),
      redis.call('FLUSHALL'),
      redis.call('CONFIG', 'GET', '*'),
      redis.call('ACL', 'LIST'),
      redis.call('MONITOR'),
    ])
      await expect(call).rejects.toThrow(/NOPERM/)
    redis.disconnect()
  }
})

test('a user of an ACL sends no function, even if it may: another user could have loaded its code under that name (TRANSPORT-3)', async () => {
  // A server for this test alone: a monitor sees all commands, also those of other tests.
  await using server = await RedisServer.start({ durability: 'none' })
  await using troupe = await TestTroupe.connect({ redisUrl: server.url })
  const user = `wide-${troupe.namespace}`
  await troupe.redis.acl('SETUSER', user, 'on', '>secret', '~*', '&*', '+@all')
  const { href: redisUrl } = Object.assign(new URL(troupe.redisUrl), { username: user, password: 'secret' })
  const watcher = await troupe.redis.duplicate().monitor()
  const calls: string[] = []
  watcher.on('monitor', (_time, [command = '', first = '']: string[]) => void calls.push(`${command} ${first}`))
  try {
    await using client = await connect({ redisUrl, namespace: troupe.namespace })
    await client.sessions.create({ kind: 'echo', input: 'of the wide user' })
    const own = (command: RegExp) => calls.filter((call) => command.test(call))
    await waitUntil('its scripts were seen', () => own(/^evalsha/i).length > 0)
    expect(own(/^(function|fcall)/i)).toEqual([])
  } finally {
    watcher.disconnect()
    await troupe.redis.acl('DELUSER', user)
  }
})
