/**
 * Duty: reads the counters of Redis from INFO, and computes the difference between two readings.
 * Both the commands inside a script and the call that ran it count, because Redis did all of that work.
 */
import type { Redis } from 'ioredis'

export interface RedisCounters {
  readonly commands: number
  readonly scripts: number
  /** Bytes ever appended to the AOF, including those in its buffer. */
  readonly aofBytes: number
  readonly cpuSeconds: number
}

/** These commands are not the contestant's work: connections introduce themselves with them, or the bench itself sends them. */
const notCounted = new Set(['info', 'hello', 'auth', 'client', 'select', 'command', 'config', 'memory'])
const scriptCalls = new Set(['evalsha', 'eval', 'evalsha_ro', 'eval_ro', 'fcall', 'fcall_ro'])

export async function readRedisCounters(redis: Redis): Promise<RedisCounters> {
  const info = await redis.info('all')
  let commands = 0
  let scripts = 0
  for (const [, name, calls] of info.matchAll(/^cmdstat_([^:|]+)[^:]*:calls=(\d+)/gm)) {
    if (name === undefined || notCounted.has(name)) continue
    commands += Number(calls)
    if (scriptCalls.has(name)) scripts += Number(calls)
  }
  return {
    commands,
    scripts,
    aofBytes: field(info, 'aof_current_size') + field(info, 'aof_buffer_length'),
    cpuSeconds: field(info, 'used_cpu_user') + field(info, 'used_cpu_sys'),
  }
}

/** The sums over several servers. */
export async function readCountersOf(servers: readonly Redis[]): Promise<RedisCounters> {
  const each = await Promise.all(servers.map(readRedisCounters))
  const sum = (name: keyof RedisCounters) => each.reduce((total, counters) => total + counters[name], 0)
  return {
    commands: sum('commands'),
    scripts: sum('scripts'),
    aofBytes: sum('aofBytes'),
    cpuSeconds: sum('cpuSeconds'),
  }
}

export function countersBetween(before: RedisCounters, after: RedisCounters): RedisCounters {
  return {
    commands: after.commands - before.commands,
    scripts: after.scripts - before.scripts,
    aofBytes: after.aofBytes - before.aofBytes,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
  }
}

function field(info: string, name: string): number {
  const value = new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]
  if (value === undefined)
    throw new Error(`INFO of this Redis has no field ${name}: the bench needs its AOF switched on.`)
  return Number(value)
}
