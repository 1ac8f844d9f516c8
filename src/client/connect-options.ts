/** Duty: the options of a connection, for `connect` and for `startNode`, and the values that each may have. */
import { defaultRedisUrl } from '../config.ts'
import { type Rules, wholeNumberRule } from '../core/check/check-options.ts'
import { isObject } from '../core/check/is-object.ts'
import { nameRule } from '../core/definition/worker-name.ts'
import { isNamespace, partitionsMax } from '../core/ids.ts'
import { policy } from '../core/policy.ts'
import type { LoggerLike } from '../log.ts'

export interface ConnectOptions {
  /** Default: redis://127.0.0.1:6379. The environment is not read. */
  readonly redisUrl?: string | undefined
  /** Keeps several troupes apart that share one Redis. Default: troupe. */
  readonly namespace?: string | undefined
  /** Refused if the namespace has another number. */
  readonly partitions?: number | undefined
  /** How long a call may take while Redis is away, connecting included, in ms. Default 10 000, for connecting 5 000. */
  readonly deadlineMs?: number | undefined
  /** Who calls, in at most 64 bytes: events of sessions, messages and cancels say it. Default: nobody is named. */
  readonly actor?: string | undefined
  /** `allowPrivateAddresses`: endpoints may be addresses of this machine and of private networks; nodes have the same option. Default: no. */
  readonly webhooks?: { readonly allowPrivateAddresses?: boolean | undefined } | undefined
  /** Gets warnings and errors as `(fields, message)`: pino(), console, … Default: none. */
  readonly logger?: LoggerLike | undefined
}

export const connectRules: Rules<ConnectOptions> = {
  redisUrl: {
    // Opening the connection finds every other fault of an address.
    expects: `a URL, like ${defaultRedisUrl}`,
    isSecret: true,
    fits: (value) => typeof value === 'string',
  },
  namespace: { expects: 'a text of 1 to 64 letters, digits, "_" or "-"', fits: isNamespace },
  partitions: wholeNumberRule(1, partitionsMax),
  deadlineMs: {
    expects: `a number of milliseconds from 1 to ${policy.timeoutMsMax}`,
    fits: (value) => typeof value === 'number' && value >= 1 && value <= policy.timeoutMsMax,
  },
  actor: nameRule,
  webhooks: {
    expects: 'an object like { allowPrivateAddresses: true }',
    fits: (value) =>
      isObject(value) &&
      (value.allowPrivateAddresses === undefined || typeof value.allowPrivateAddresses === 'boolean'),
  },
  logger: {
    expects: 'a logger like that of pino: an object with debug, info, warn and error',
    fits: (value) =>
      isObject(value) && ['debug', 'info', 'warn', 'error'].every((level) => typeof value[level] === 'function'),
  },
}
