/** Duty: what `run` and `submit` say about the session they create: its name, its idempotency key, its limits. */
import type { Command } from 'commander'
import type { SessionLimits } from '../core/policy.ts'
import { idempotencyKey, limits } from './options.ts'

export interface SessionFlags {
  readonly name?: string
  readonly key?: string
  readonly limit?: Partial<SessionLimits>
}

interface SessionOrder {
  readonly kind: string
  readonly input: unknown
  readonly name?: string
  readonly idempotencyKey?: string
  readonly limits?: Partial<SessionLimits>
}

export function addSessionOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name of the first worker, for people')
    .option('--key <key>', 'idempotency key: the same key gives the same session', idempotencyKey)
    .option(
      '--limit <name=n,…>',
      'limits of the session: workers, children, depth, mailbox, modelCalls, tokens',
      limits,
    )
}

export function sessionOrder(kind: string, input: unknown, flags: SessionFlags): SessionOrder {
  return {
    kind,
    input,
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.key === undefined ? {} : { idempotencyKey: flags.key }),
    ...(flags.limit === undefined ? {} : { limits: flags.limit }),
  }
}
