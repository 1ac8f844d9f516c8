import { test } from 'vitest'
import * as scripts from '../../src/store/scripts.ts'
import { RedisServer } from '../support/redis-server.ts'
import { openRedis } from '../../src/store/redis.ts'
import { calls } from './support/calls.ts'
import { Place } from './support/place.ts'

const writes = new Set('hset hdel hincrby rpush lpop lset ltrim del unlink zadd zrem zremrangebyscore sadd srem set xadd xtrim'.split(' '))
test('touch', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  const watch = openRedis(server.url)
  const monitor = await watch.monitor()
  const lines: { args: string[]; source: string }[] = []
  monitor.on('monitor', (_t: string, args: string[], source: string) => lines.push({ args, source }))
  const bySha = new Map(Object.values(scripts).map((s) => [s.sha, s]))
  const found = new Map<string, Set<string>>()
  for (const call of calls) {
    await using place = await Place.open({ redisUrl: server.url })
    for (const s of Object.values(scripts)) await place.redis.script('LOAD', s.source)
    const make = await call.prepare(place)
    await new Promise((r) => setTimeout(r, 20))
    lines.length = 0
    await make()
    await new Promise((r) => setTimeout(r, 30))
    let declared = new Set<string>(), touched = new Set<string>(), wrote = '', file = ''
    for (const { args, source } of lines) {
      const cmd = (args[0] as string).toLowerCase()
      if (source !== 'lua') {
        if (cmd === 'evalsha') {
          const script = bySha.get(args[1] as string)
          file = script?.file ?? '?'
          declared = new Set(args.slice(3, 3 + Number(args[2])))
          touched = new Set(); wrote = ''
        }
        continue
      }
      if (cmd === 'time' || cmd === 'publish') continue
      const keys = ['del', 'unlink', 'exists', 'mget'].includes(cmd) ? args.slice(1) : [args[1] as string]
      for (const key of keys) {
        if (wrote && !declared.has(key) && !touched.has(key)) {
          const short = key.replace(/^\{[^}]*\}:/, '').replace(/[0-9a-f-]{36}/g, '<id>')
          const set = found.get(file) ?? new Set(); found.set(file, set)
          set.add(`${cmd} ${short} after ${wrote}   (${call.name})`)
        }
        touched.add(key)
      }
      if (writes.has(cmd) && !wrote) wrote = `${cmd} ${(args[1] as string).replace(/^\{[^}]*\}:/, '').replace(/[0-9a-f-]{36}/g, '<id>')}`
    }
  }
  monitor.disconnect(); watch.disconnect()
  for (const [file, set] of found) console.log(file + '\n  ' + [...set].join('\n  '))
}, 120000)
