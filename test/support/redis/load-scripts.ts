import type { Redis } from '../../../src/store/redis/redis.ts'
import { scriptLibrary } from '../../../src/store/script/script-source.ts'
import * as scripts from '../../../src/store/script/scripts.ts'
import { hasFunctions } from './redis-functions.ts'

/** Redis knows all scripts in every way it has: no call has to bring one along. */
export async function loadScripts(redis: Redis): Promise<void> {
  if (await hasFunctions(redis)) await redis.function('LOAD', 'REPLACE', scriptLibrary.text)
  for (const { source } of Object.values(scripts)) await redis.script('LOAD', source)
}
