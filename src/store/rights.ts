/** Duty: a Redis user who may not call what scripts call is refused at the start, and not in the middle of what a script writes. */
import { ConfigError } from '../core/errors.ts'
import { partitionKeys, tagOf } from './keys.ts'
import type { Redis } from './redis.ts'
import { ScriptCaller } from './script.ts'
import { rightsScript } from './scripts.ts'

/** Throws a ConfigError that names the commands. The namespace must have been set up. */
export async function checkRights(redis: Redis, namespace: string, deadlineMs: number): Promise<void> {
  const { meta, hints } = partitionKeys(tagOf(namespace, 0))
  const [kind, names] = await new ScriptCaller(redis).call(rightsScript, { meta }, { hint: hints }, { deadlineMs })
  if (kind === 'ok') return
  const commands = String(names).trim().replaceAll(' ', ', ')
  throw new ConfigError(
    `the Redis user may not call ${commands}, which would leave work half written: allow it (ACL SETUSER); docs/operations.md lists what troupe needs.`,
  )
}
