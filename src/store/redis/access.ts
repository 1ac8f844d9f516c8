/** Duty: how a connection logged in, and whether its user may replace code that other users of the server run. Doctor shows this. */
import type { Redis } from './redis.ts'

export interface RedisAccess {
  readonly user: string
  /** False if anybody who reaches the server may use it. A socket is protected by the rights of its file. */
  readonly hasPassword: boolean
  readonly mayLoadFunctions: boolean
}

/** The name of no version's library, so that nothing is deleted. */
const noLibrary = 'troupe_none'

export async function readAccess(redis: Redis): Promise<RedisAccess> {
  const { username, password, path } = redis.options
  const user = username || 'default'
  const hasPassword = Boolean(password) || Boolean(path)
  return { user, hasPassword, mayLoadFunctions: user !== 'default' && (await mayChangeFunctions(redis)) }
}

async function mayChangeFunctions(redis: Redis): Promise<boolean> {
  try {
    await redis.function('DELETE', noLibrary)
    return true
  } catch (error) {
    return String(error).includes('Library not found')
  }
}
