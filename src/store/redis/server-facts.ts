/** Duty: what a server of Redis says of itself, for doctor and metrics. It writes nothing. */
import { type RedisAccess, readAccess } from './access.ts'
import type { Redis } from './redis.ts'
import { refusalOf } from './store-error.ts'

type Fields = Readonly<Record<string, string>>

export interface ServerFacts {
  readonly version: string
  readonly evictionPolicy: string
  readonly usedBytes: number
  /** 0 means no limit. */
  readonly maxBytes: number
  readonly appendOnly: boolean
  /** The clock of Redis minus that of this process, in ms. */
  readonly clockSkewMs: number
  readonly role: string
  /** Why Redis refuses writes now, and what to do; null if it accepts them. */
  readonly refusal: { readonly why: string; readonly todo: string } | null
  /** How this connection logged in, and whether its user may load functions, which belong to the whole server. */
  readonly access: RedisAccess
  readonly info: Fields
}

/** `tried`: a key of the server, with which a write is tried that changes nothing; null for a server without one. */
export async function readServerFacts(redis: Redis, tried: string | null): Promise<ServerFacts> {
  const clockSkewMs = await readClockSkew(redis)
  const info = infoFields(await redis.info())
  return {
    version: info.redis_version ?? 'unknown',
    evictionPolicy: info.maxmemory_policy ?? 'unknown',
    ...memoryOf(info),
    appendOnly: info.aof_enabled === '1',
    clockSkewMs,
    role: info.role ?? 'unknown',
    refusal: tried === null ? null : await redis.set(tried, '', 'XX').then(() => null, refusalOf),
    access: await readAccess(redis),
    info,
  }
}

/** How full a server is. */
export async function readMemory(redis: Redis): Promise<Pick<ServerFacts, 'usedBytes' | 'maxBytes'>> {
  return memoryOf(infoFields(await redis.info('memory')))
}

function memoryOf(info: Fields): Pick<ServerFacts, 'usedBytes' | 'maxBytes'> {
  return { usedBytes: Number(info.used_memory ?? 0), maxBytes: Number(info.maxmemory ?? 0) }
}

async function readClockSkew(redis: Redis): Promise<number> {
  const before = Date.now()
  const [seconds, micros] = await redis.time()
  const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
  return Math.round(now - (before + Date.now()) / 2)
}

/** INFO as a table. CLUSTER INFO has the same form. */
export function infoFields(text: string): Fields {
  const fields: Record<string, string> = {}
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0 && !line.startsWith('#')) fields[line.slice(0, colon)] = line.slice(colon + 1)
  }
  return fields
}
