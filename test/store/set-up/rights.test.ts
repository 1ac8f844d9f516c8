/** Each command that a script calls is tried when a connection begins, and the trying changes nothing. */
import { readdirSync, readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import type { Purpose } from '../../../src/client/fleet/partitions.ts'
import { checkRights } from '../../../src/store/set-up/rights.ts'
import { checkRedis } from '../../../src/store/set-up/set-up.ts'
import { newNamespace } from '../../support/namespace.ts'
import { changes } from '../support/dump.ts'
import { Place } from '../support/place.ts'

const folder = new URL('../../../src/store/lua/', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')
const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.lua') && file !== 'rights.lua')
  .map(read)
// A command is called by its name, or from a table by the sort of a key.
const calls = /redis\.p?call\('([A-Z]+)'|\b(?:list|bytes|hash|set|zset|string) = '([A-Z]+)'/g
const called = new Set(texts.flatMap((text) => namesIn(text, calls)))
// These commands tell the sorts of keys apart.
for (const name of ['HLEN', 'LLEN', 'SCARD', 'ZCARD', 'XLEN', 'STRLEN']) called.add(name)
const tried = namesIn(read('rights.lua'), /(?:\{ |pcall\()'([A-Z]+)'/g)

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name, other]) => (name ?? other) as string)
}

async function setUp(): Promise<Place> {
  const place = await Place.open()
  onTestFinished(() => place[Symbol.asyncDispose]())
  await checkRedis(place.redis, place.namespace, 1)
  return place
}

/** The address of Redis with a user who lacks these. */
async function urlWithout(place: Place, ...commands: string[]): Promise<string> {
  const user = `lacks-${place.namespace}`
  const rules = commands.map((name) => `-${name}`)
  await place.redis.acl('SETUSER', user, 'on', '>secret', '~*', '&*', '+@all', ...rules)
  onTestFinished(async () => {
    await place.redis.acl('DELUSER', user)
  })
  return Object.assign(new URL(place.redisUrl), { username: user, password: 'secret' }).href
}

async function without(place: Place, ...commands: string[]): Promise<Redis> {
  const redis = new Redis(await urlWithout(place, ...commands))
  onTestFinished(() => redis.disconnect())
  return redis
}

describe('the rights of a user', () => {
  test('the rights of a user are tried for every command that a script calls', () => {
    expect(new Set(tried)).toEqual(called)
  })

  test('a user with all rights is accepted, and nothing has changed', async () => {
    const place = await setUp()
    const before = await place.dump()
    await checkRights(await without(place), place.namespace, 5_000)
    expect(changes(before, await place.dump())).toEqual({})
  })

  test.each(tried)(
    'a user that lacks only the right to %s is refused by its name, and nothing has changed',
    async (name) => {
      const place = await setUp()
      const before = await place.dump()
      await expect(checkRights(await without(place, name), place.namespace, 5_000)).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringMatching(
          new RegExp(`^the Redis user may not call ${name}, which .*docs/operations\\.md`),
        ),
      })
      expect(changes(before, await place.dump())).toEqual({})
    },
  )

  test('a user that lacks several rights is refused by all their names', async () => {
    const place = await setUp()
    const redis = await without(place, 'lset', 'xadd', 'del')
    await expect(checkRights(redis, place.namespace, 5_000)).rejects.toThrow('may not call DEL, LSET, XADD, which')
  })

  test('a user that may run no script is refused too', async () => {
    const place = await setUp()
    const redis = await without(place, '@scripting')
    await expect(checkRights(redis, place.namespace, 5_000)).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test.each(['evalsha', 'eval'])('a user that lacks %s, which BullMQ calls, is refused by its name', async (name) => {
    const place = await setUp()
    await expect(checkRights(await without(place, name), place.namespace, 5_000)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`'${name}'`),
    })
  })

  test('the rights of a user are checked for clients that write, and not for those that only read', async () => {
    const place = await setUp()
    const redisUrl = await urlWithout(place, 'hset', 'xadd')
    const open = (purpose: Purpose, namespace: string) => connectInternal({ redisUrl, namespace, purpose })
    await expect(open('create', place.namespace)).rejects.toThrow('may not call HSET, XADD, which')
    await expect(open('change', place.namespace)).rejects.toThrow('may not call HSET, XADD, which')
    await (await open('look', place.namespace)).close()
    // There is nothing to change.
    const namespace = newNamespace()
    await (await open('change', namespace)).close()
    expect(await place.redis.keys(`{${namespace}.*`)).toEqual([])
  })
})
