/** Duty: the options that several commands share, so that a name means the same everywhere. Each value is checked as it is read. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { CreateSession } from '../client/submission/submission.ts'
import type { Rule } from '../core/check/check-options.ts'
import { nameRule } from '../core/definition/worker-name.ts'
import {
  type Allowance,
  defaultSessionLimits,
  defaultSpending,
  limitNames,
  type SessionLimits,
  type Spending,
} from '../core/policy.ts'
import { type ApprovalPolicy, approvalPolicies } from '../core/worker/ask/session-approval.ts'
import { type Notify, notifyProblem } from '../core/worker/notify.ts'
import { checkPermissions, type Permissions } from '../core/worker/permissions.ts'
import { turnShareRules } from '../core/worker/turn-share.ts'
import { parseDuration } from '../words/duration.ts'

/** The options that host/connection.ts needs to find Redis. */
export interface ConnectionFlags {
  readonly json?: boolean
  readonly redisUrl?: string
  readonly namespace?: string
}

export interface NodeFlags extends ConnectionFlags {
  readonly workers?: string
  readonly partitions?: number
  readonly concurrency?: number
  readonly logLevel?: string
  readonly model?: string
  readonly prices?: string
}

/** `otherwise`: the Redis if no option and no variable names one. */
export function addConnectionOptions(command: Command, otherwise = 'redis://127.0.0.1:6379'): Command {
  command
    .option(
      '--redis-url <url>',
      `Redis to use, or folder for the one of .troupe/redis; default: TROUPE_REDIS_URL, else REDIS_URL, else ${otherwise}`,
    )
    .option('--namespace <name>', 'namespace in Redis; default: TROUPE_NAMESPACE, else troupe')
  return addJsonOption(command)
}

export function addJsonOption(command: Command): Command {
  return command.option('--json', 'one JSON object per line on stdout')
}

export interface RawFlag {
  readonly raw?: boolean
}

export function addRawOption(
  command: Command,
  description = 'print text unchanged, also characters that a terminal obeys or hides',
): Command {
  return command.option('--raw', description)
}

export function addWorkersOption(command: Command): Command {
  return command.option('--workers <folder>', 'folder of worker files; default: TROUPE_WORKERS, else ./workers')
}

export function addNodeOptions(command: Command): Command {
  return addWorkersOption(command)
    .option('--concurrency <n>', 'the most turns that run at the same time', wholeNumber(1))
    .option('--partitions <n>', 'number of partitions, when the namespace is used for the first time', wholeNumber(1))
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent; default: info')
}

/** Adds the option for commands that may run a node in their process. */
export function addModelOption(command: Command): Command {
  return command
    .option('--model <provider/model>', 'model for agents that name no model; default: TROUPE_MODEL')
    .option(
      '--prices <file>',
      'JSON with your own prices of models; default: TROUPE_PRICES, and a table of public prices',
    )
}

/** A parser for commander: an idempotency key. An empty key mostly comes from a shell variable that was never set. */
export function idempotencyKey(text: string): string {
  if (text === '') throw new InvalidArgumentError('Expected a key that is not empty.')
  return text
}

/** A parser for commander: the name of a worker. */
export function name(text: string): string {
  if (!nameRule.fits(text)) throw new InvalidArgumentError(`Expected ${nameRule.expects}.`)
  return text
}

/** A parser for commander: names with commas between them. An empty text mostly comes from a shell variable that was never set. */
export function names(text: string): string[] {
  const found = text.split(',').map((one) => one.trim())
  if (found.includes('')) throw new InvalidArgumentError('Expected names with commas between them.')
  return found
}

/** A parser for commander: some of these, with commas between them. */
export function someOf<Name extends string>(known: readonly Name[]): (text: string) => Name[] {
  return (text) => {
    const found = text.split(',').map((one) => one.trim() as Name)
    if (found.every((one) => known.includes(one))) return found
    throw new InvalidArgumentError(`Expected some of ${known.join(', ')}, with commas between them.`)
  }
}

/** A parser for commander: a number that this rule takes. */
function numberOf(rule: Rule): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (!rule.fits(value)) throw new InvalidArgumentError(`Expected ${rule.expects}.`)
    return value
  }
}

/** A parser for commander: a whole number, from `least` on. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
      throw new InvalidArgumentError(`Expected a whole number from ${least} on.`)
    }
    return value
  }
}

export function duration(text: string): number {
  try {
    return parseDuration(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

/** A parser for commander: a queue, or an address of http or https. */
function notify(text: string): Notify {
  const target = /^https?:/.test(text) ? { url: text } : { queue: text }
  const problem = notifyProblem(target)
  if (problem !== null) throw new InvalidArgumentError(`It ${problem}.`)
  return target
}

/** `workers=500`, or several: `workers=500,depth=8`. */
export const limits = limitsOf<SessionLimits>(defaultSessionLimits)

/** What a token may give its sessions within an hour: how many, and what they may spend. */
export const amounts = limitsOf<Allowance>({ sessions: 0, ...defaultSpending })

/** The limits that may change while a session lives. */
export const spendingLimits = limitsOf<Spending>(defaultSpending)

function limitsOf<Limits>(known: { readonly [Name in keyof Limits]: number }) {
  return (text: string, previous: Partial<Limits> | undefined): Partial<Limits> => {
    const found: Record<string, number> = { ...previous }
    for (const pair of text.split(',')) {
      const [name, value, ...rest] = pair.split('=').map((piece) => piece.trim())
      if (name === undefined || !Object.hasOwn(known, name) || value === undefined || rest.length > 0) {
        throw new InvalidArgumentError(`Expected name=number with a name of: ${Object.keys(known).join(', ')}.`)
      }
      found[name] = wholeNumber(name === 'depth' ? 0 : 1)(value)
    }
    return found as Partial<Limits>
  }
}

/** `tools=look_up,pay`, `kinds=reader` or `folder=/srv/docs`. Several options add up. */
export function permissions(text: string, previous: Permissions = {}): Permissions {
  const [, what, value = ''] = /^(tools|kinds|folder|send)=(.*)$/s.exec(text) ?? []
  if (what === undefined)
    throw new InvalidArgumentError(
      'Expected tools=<names>, kinds=<names>, folder=<path>, or send=none, family, session or <ids>.',
    )
  if (what === 'folder' && previous.folder !== undefined) throw new InvalidArgumentError('A session has one folder.')
  const names = () => [...(previous[what as 'tools' | 'kinds'] ?? []), ...(value === '' ? [] : value.split(','))]
  try {
    if (what === 'send') return checkPermissions({ ...previous, send: sendOf(value) })
    return checkPermissions({ ...previous, [what]: what === 'folder' ? value : names() })
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

function sendOf(value: string): Permissions['send'] {
  return value === 'none' || value === 'family' || value === 'session' ? value : value.split(',')
}

/** What `run` and `submit` say about the session that they create. */
export interface SessionFlags {
  readonly name?: string
  readonly key?: string
  readonly limit?: Partial<SessionLimits>
  readonly permissions?: Permissions
  readonly approval?: ApprovalPolicy
  readonly notify?: Notify
  readonly weight?: number
  readonly priority?: number
}

export function addSessionOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name of the first worker, shown to people', name)
    .option('--key <key>', 'idempotency key: the same key gives the same session', idempotencyKey)
    .option('--limit <name=n,…>', `limits of the session: ${limitNames.join(', ')}`, limits)
    .option(
      '--permissions <what=…>',
      'what its workers may use: tools=a,b, kinds=a,b, folder=/path or send=session; may be repeated',
      permissions,
    )
    .addOption(
      new Option(
        '--approval <policy>',
        'manual: tools and kinds say which calls a person approves (default); auto: all run, but dangerous tools and deny rules; readOnly: pure tools alone',
      ).choices(approvalPolicies),
    )
    .option(
      '--notify <queue or url>',
      'where the result goes when the session ends: a queue of BullMQ, or a request, which only nodes with TROUPE_WEBHOOK_SECRET sign and send',
      notify,
    )
    .option(
      '--weight <n>',
      'share of the slots beside other sessions that have work waiting, 1 to 1000 (default 1)',
      numberOf(turnShareRules.weight),
    )
    .option(
      '--priority <n>',
      'whose turn is first when a slot becomes free, 0 to 9 (default 0)',
      numberOf(turnShareRules.priority),
    )
}

export function sessionRequest(kind: string, input: unknown, flags: SessionFlags): CreateSession {
  return {
    kind,
    input,
    name: flags.name,
    idempotencyKey: flags.key,
    limits: flags.limit,
    permissions: flags.permissions,
    approval: flags.approval,
    notify: flags.notify,
    weight: flags.weight,
    priority: flags.priority,
  }
}

export type Example = readonly [line: string, what: string]

/** Adds examples to the end of the help: each is a command line and what it does. */
export function addExamples(command: Command, examples: readonly Example[]): Command {
  const width = examples.reduce((most, [line]) => Math.max(most, line.length), 0)
  const lines = examples.map(([line, what]) => `  $ ${line.padEnd(width)}   ${what}`.trimEnd())
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}
