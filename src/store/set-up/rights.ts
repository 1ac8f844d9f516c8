/** Duty: a Redis user who may not call what scripts call is refused at the start, and not in the middle of what a script writes. */
import { ConfigError } from '../../core/errors.ts'
import { partitionKeys, tagOf } from '../keys.ts'
import { type Redis, withDeadline } from '../redis/redis.ts'
import { storeError } from '../redis/store-error.ts'
import { ScriptCaller } from '../script/script.ts'
import { rightsScript } from '../script/scripts.ts'
import { wrongAt } from './set-up.ts'

/** The digest of no script. */
const noDigest = '0'.repeat(40)

/** Throws a ConfigError that names the commands. The namespace must have been set up. `partition`: one whose keys this server has. */
export async function checkRights(redis: Redis, namespace: string, deadlineMs: number, partition = 0): Promise<void> {
  const { meta, cancelNotices } = partitionKeys(tagOf(namespace, partition))
  const [[kind, names]] = await Promise.all([
    new ScriptCaller(redis).call(rightsScript, { meta }, { channel: cancelNotices }, { deadlineMs }),
    checkAsked(redis.evalsha(noDigest, 0), deadlineMs),
    checkAsked(redis.eval('return 1', 0), deadlineMs),
  ])
  if (kind === 'ok') return
  const commands = String(names).trim().replaceAll(' ', ', ')
  throw wrongAt(
    redis,
    `the Redis user may not call ${commands}, which would leave work half written: allow it (ACL SETUSER); docs/operations.md lists what troupe needs.`,
  )
}

/** BullMQ runs its scripts in this way alone; ours run so if a function is refused. Without this right the system goes on by its sweeps, slowly. */
async function checkAsked(asked: Promise<unknown>, deadlineMs: number): Promise<void> {
  try {
    await withDeadline(asked, deadlineMs)
  } catch (thrown) {
    const error = storeError(thrown, 'rights')
    if (error instanceof ConfigError) throw error
  }
}
