/** Duty: what `run` and `submit` say about the session they create: its name, its idempotency key, its limits, its permissions. */
import type { Command } from 'commander'
import type { CreateSession } from '../../client/submission.ts'
import { limitNames, type SessionLimits } from '../../core/policy.ts'
import type { Permissions } from '../../core/worker/permissions.ts'
import { idempotencyKey, limits, name, permissions } from '../options.ts'

export interface SessionFlags {
  readonly name?: string
  readonly key?: string
  readonly limit?: Partial<SessionLimits>
  readonly permissions?: Permissions
}

export function addSessionOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name of the first worker, for people', name)
    .option('--key <key>', 'idempotency key: the same key gives the same session', idempotencyKey)
    .option('--limit <name=n,…>', `limits of the session: ${limitNames.join(', ')}`, limits)
    .option(
      '--permissions <what=…>',
      'what its workers may use: tools=a,b, kinds=a,b or folder=/path; may be repeated',
      permissions,
    )
}

export function sessionOrder(kind: string, input: unknown, flags: SessionFlags): CreateSession {
  return {
    kind,
    input,
    name: flags.name,
    idempotencyKey: flags.key,
    limits: flags.limit,
    permissions: flags.permissions,
  }
}
