import type { Redis } from '../../src/store/redis.ts'
import { scriptLibrary } from '../../src/store/script-source.ts'
import * as scripts from '../../src/store/scripts.ts'

/** Redis knows all scripts in every way: no call has to bring one along. */
export async function loadScripts(redis: Redis): Promise<void> {
  await redis.function('LOAD', 'REPLACE', scriptLibrary.text)
  for (const { source } of Object.values(scripts)) await redis.script('LOAD', source)
}
