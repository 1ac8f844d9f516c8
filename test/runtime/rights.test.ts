/** The rights that docs/operations.md gives a Redis user are enough for all that nodes and clients do. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { connect } from '../../src/client/client.ts'
import { startNode } from '../../src/compose.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { expectInvariants } from '../support/oracle.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/wait-until.ts'

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
    expect(log.filter((refused) => refused.includes(user) && !refused.includes('client'))).toEqual([])
  } finally {
    await troupe.redis.acl('DELUSER', user)
  }
  await expectInvariants(troupe.redis, namespace)
})
