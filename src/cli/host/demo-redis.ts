/** Duty: the Redis of a demo: the configured one, else one that keeps its data in this folder, else a throw-away one. */
import type { Config } from '../../config.ts'
import type { DevRedis } from '../../dev/redis.ts'
import { toComplaint } from '../exit-code.ts'
import { safe } from '../terminal/output.ts'

const readOnly = new Set(['EACCES', 'EPERM', 'EROFS'])

interface DemoRedis extends DevRedis {
  /** What becomes of its data. Data in the folder is read later with `--redis-url folder`. */
  readonly fate: 'kept elsewhere' | 'in the folder' | 'thrown away'
}

export async function demoRedis(config: Config, tell: (line: string) => void, signal: AbortSignal): Promise<DemoRedis> {
  const { findOrStartRedis } = await import('../../dev/redis.ts')
  const { folderRedisUrl } = await import('../../config.ts')
  // That of this folder is the one that is found or started without an address.
  const url = config.redisUrl === folderRedisUrl ? undefined : config.redisUrl
  const wish = { url, path: config.path ?? '', log: tell, signal }
  let isThrowAway = false
  const redis = await findOrStartRedis({ ...wish, mode: 'development' }).catch(async (thrown: unknown) => {
    const reason = await faultOfFolder(thrown)
    if (reason === undefined) throw thrown
    // In a read-only folder, everybody expects a throw-away Redis.
    if (!readOnly.has(codeOf(thrown))) tell(`troupe: no Redis can keep its data in .troupe/redis: ${safe(reason)}`)
    isThrowAway = true
    return findOrStartRedis({ ...wish, mode: 'test' })
  })
  tell(`Using ${redis.description}.`)
  const fate = redis.how === 'given' ? 'kept elsewhere' : isThrowAway ? 'thrown away' : 'in the folder'
  return { ...redis, fate }
}

/** Why Redis cannot run in this folder; undefined if the folder is not the reason. */
async function faultOfFolder(thrown: unknown): Promise<string | undefined> {
  const { ServerFailedError } = await import('../../dev/redis-unavailable.ts')
  if (thrown instanceof ServerFailedError) {
    return `${thrown.summary}. Move the folder away to start with an empty Redis.`
  }
  return /^E[A-Z0-9]+$/.test(codeOf(thrown)) ? `${toComplaint(thrown).message.replace(/\.$/, '')}.` : undefined
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
}
