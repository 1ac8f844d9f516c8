/** A Redis that refuses a connection its database when it comes back: what is asked then is asked in no other one. */
import { expect, test } from 'vitest'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** How often a connection was refused its database. */
async function refusalsOf(admin: Redis): Promise<number> {
  const [, rejected = '0'] = /^cmdstat_select:.*rejected_calls=(\d+)/m.exec(await admin.info('commandstats')) ?? []
  return Number(rejected)
}

test.each([
  ['one of ours', (url: string) => [openRedis(url)]],
  [
    'one that BullMQ makes after one of ours',
    (url: string) => {
      const redis = openRedis(url)
      return [redis.duplicate(), redis]
    },
  ],
])('a connection (%s) writes nothing before it has its database again', async (_, open) => {
  await using server = await RedisServer.start({ durability: 'none' })
  const admin = openRedis(server.url)
  await admin.acl('SETUSER', 'some', 'on', '>secret', '~*', '&*', '+@all')
  const opened = open(`${server.url.replace('//', '//some:secret@')}/3`)
  const redis = opened[0] as Redis
  const id = await redis.client('ID')
  await admin.acl('SETUSER', 'some', '-select')
  await admin.client('KILL', 'ID', id)
  const written = redis.set('key', 'value')
  await waitUntil('it tried again, or wrote', async () => (await refusalsOf(admin)) > 1 || (await admin.dbsize()) > 0)
  expect(await admin.dbsize()).toBe(0)
  await admin.acl('SETUSER', 'some', '+select')
  await written
  await admin.select(3)
  expect(await admin.get('key')).toBe('value')
  for (const one of [...opened, admin]) one.disconnect()
})
