/** Whether scripts are kept in Redis as functions: by the user, or as the address says (TRANSPORT-3). */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { endRedis, openRedis } from '../../../src/store/redis/redis.ts'
import { ScriptCaller } from '../../../src/store/script/script.ts'
import { closeScript } from '../../../src/store/script/scripts.ts'
import { newNamespace } from '../../support/namespace.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'

const isOldRedis = (info: string) => /redis_version:6\./.test(info)

test.each([
  ['the user default', '', '', true],
  ['the user default, whose address says no', '', '?functions=no', false],
  ['another user', 'guest:secret@', '', false],
  ['another user, whose address says yes', 'guest:secret@', '?functions=yes', true],
  ['another user, whose address says no', 'guest:secret@', '?functions=no', false],
])('%s uses functions only as allowed', async (_, login, query, isUsed) => {
  await using server = await RedisServer.start({ durability: 'none' })
  const admin = new Redis(server.url)
  onTestFinished(() => admin.disconnect())
  await admin.acl('SETUSER', 'guest', 'on', '>secret', '~*', '&*', '+@all')
  const redis = openRedis(`${server.url.replace('redis://', `redis://${login}`)}${query}`)
  onTestFinished(() => endRedis(redis))
  const keys = partitionKeys(tagOf(newNamespace(), 0))
  const args = { root: `${keys.tag}:w:none`, events: keys.events, ends: keys.ends }
  const answer = await new ScriptCaller(redis).call(
    closeScript,
    args,
    { sessionId: 'none', note: '{}', event: '[]' },
    { deadlineMs: 20_000 },
  )
  expect(answer[0]).toBe('not_found')
  const libraries = isOldRedis(await admin.info('server')) ? [] : await admin.function('LIST')
  expect(libraries.length > 0).toBe(isUsed && !isOldRedis(await admin.info('server')))
})
