/**
 * Duty: the options of a connection, and what they may be, for `connect` and `startNode` alike: names, addresses and numbers as the
 * command line takes them.
 */
import { defaultRedisUrl } from '../config.ts'
import { type Rules, wholeNumberRule } from '../core/check/check-options.ts'
import { isObject } from '../core/check/is-object.ts'
import { isNamespace, partitionsMax } from '../core/ids.ts'
import { policy } from '../core/policy.ts'
import type { LoggerLike } from '../log.ts'

export interface ConnectOptions {
  /** Default: redis://127.0.0.1:6379. No variable of the environment is read for it. */
  readonly redisUrl?: string | undefined
  /** Tells several troupes on one Redis apart. Default: troupe. */
  readonly namespace?: string | undefined
  /** Refused when the namespace was set up with another number. */
  readonly partitions?: number | undefined
  /** How long a call may take while Redis is away, connecting included, in ms. Default 10 000, for connecting 5 000. */
  readonly deadlineMs?: number | undefined
  /** Called as `(fields, message)` with what goes wrong: pino(), console, … Default: none, and nothing is logged. */
  readonly logger?: LoggerLike | undefined
}

export const connectRules: Rules<ConnectOptions> = {
  redisUrl: {
    // What else is wrong with it is told where it is opened.
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
  logger: {
    expects: 'a logger like that of pino: an object with debug, info, warn and error',
    fits: (value) =>
      isObject(value) && ['debug', 'info', 'warn', 'error'].every((level) => typeof value[level] === 'function'),
  },
}
