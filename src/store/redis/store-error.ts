/**
 * Duty: what Redis or a script says of a call that failed, as an error that says what happened and what to do; and how long to wait before
 * the call is made again.
 */
import { ConfigError, InvariantError, RuntimeError, TransientError } from '../../core/errors.ts'
import { notNowCodes, userCodes, userWords } from '../../core/redis-refusals.ts'
import { loginAdvice } from './no-connection.ts'

/**
 * Errors that say "not now": nothing was written, the same call may succeed later. Redis 6.2 wraps such errors of a script. A server of a cluster
 * says `MOVED` and `ASK`, and for commands of a script that a key is not local, while a slot is being moved to another server.
 */
const refusedNow = new RegExp(
  String.raw`(?:^|: -)((${notNowCodes}|MOVED|ASK)\b.*)|(Script attempted to access a non local key\b.*)`,
  's',
)
/** What a script says of damage that it finds before its first write: the text behind the mark of lua/shared/record/checks.lua. */
const damage = /\bDAMAGED (.*?)(?= script: |$)/s
const userRefused = new RegExp(String.raw`(?:^|: -)((?:${userCodes})\b.*)|((?:${userWords}) .*)`, 's')
/** What a Redis says if its configuration took a command away. Scripts do not say which. */
const commandMissing = /Unknown (?:Redis )?command called from \w+|\bunknown command [`']?\w+['`]?/i
const connectionLost =
  /ECONN|EPIPE|ENOTFOUND|ETIMEDOUT|Connection is closed|no answer within|max retries|aborted due to connection/i

/** A reader throws this for something stored that it cannot work with. */
export class StoredDamage extends Error {}

export function storeError(thrown: unknown, doing: string): RuntimeError {
  if (thrown instanceof RuntimeError) return thrown
  const message = messageOf(thrown)
  const what = doing.replace('.lua', '')
  const refused = refusedNow.exec(message)
  if (refused) {
    const [why, code] = refusedWords(refused)
    return new TransientError(`Redis refused (${what}: ${firstSentence(why)}). ${adviceFor(code)} ${nothingWritten}`, {
      code: 'store_refused',
      cause: thrown,
    })
  }
  const [, byCode, inScript] = userRefused.exec(message) ?? []
  const forbidden = byCode ?? inScript
  if (forbidden !== undefined) {
    // The error gets no `cause`, because that holds the password if the login was refused.
    return new ConfigError(`Redis refused (${what}: ${firstSentence(forbidden)}); ${loginAdvice(forbidden)}`)
  }
  const unfit = unfitBy(message)
  if (unfit !== undefined)
    return new ConfigError(`Redis refused (${what}: ${unfit.why}); ${unfit.todo}`, { cause: thrown })
  if (connectionLost.test(message)) {
    const why = firstSentence(message)
    return new TransientError(
      `Redis cannot be reached (${what}: ${why}). \`troupe doctor\` tells which server does not answer.`,
      { code: 'store_unavailable', cause: thrown },
    )
  }
  const damaged = thrown instanceof StoredDamage ? message : damage.exec(message)?.[1]
  if (damaged !== undefined) {
    return new InvariantError(
      `what is stored is not as it should be (${what}: ${damaged}). ${nothingWritten} Another program wrote it: put it back, or remove it.`,
      { cause: thrown, details: { damaged } },
    )
  }
  if (message.includes('WRONGTYPE')) return wrongSort(thrown, message, what)
  return new InvariantError(`the store failed (${what}: ${message}).`, { cause: thrown })
}

/** Why Redis takes no writes now, and what to do; null for another error. */
export function refusalOf(thrown: unknown): { readonly why: string; readonly todo: string } | null {
  const refused = refusedNow.exec(messageOf(thrown))
  if (refused === null) return null
  const [why, code] = refusedWords(refused)
  return { why: firstSentence(why), todo: adviceFor(code) }
}

function refusedWords([, why, code = 'TRYAGAIN', notLocal = '']: RegExpExecArray): [why: string, code: string] {
  return [why ?? notLocal, code]
}

/** Refusals that remain for any user, however long one waits. */
function unfitBy(message: string): { why: string; todo: string } | undefined {
  const [missing] = commandMissing.exec(message) ?? []
  if (missing === undefined) return undefined
  return { why: missing, todo: 'its configuration takes that command away (rename-command): troupe needs it.' }
}

/** The sort of key that a command reads, by the first letter of the command. */
const sorts: Readonly<Record<string, string>> = { h: 'hash', l: 'list', s: 'set', z: 'zset', x: 'stream', g: 'string' }

/** The error for a key of the wrong sort. Redis does not say which; the command does, where the error names it. */
function wrongSort(thrown: unknown, message: string, what: string): InvariantError {
  const { name = '', args = [] } = (thrown as { command?: { name?: string; args?: readonly unknown[] } }).command ?? {}
  const sort = sorts[name.charAt(0)]
  const damaged = sort === undefined ? firstSentence(message) : `key ${String(args[0])} should be a ${sort}`
  const advice = sort === undefined ? '`troupe audit` names it' : 'put it back, or remove it'
  return new InvariantError(
    `what is stored is not as it should be (${what}: ${damaged}). Another program wrote over a key: ${advice}.`,
    { cause: thrown, details: { damaged } },
  )
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

const nothingWritten = 'Nothing was written.'

/** If Redis refused, and did not answer the last attempt, the error says why it refused: the caller can do something about that. */
export function lastWord(refusal: RuntimeError | undefined, last: RuntimeError): RuntimeError {
  if (last === refusal || refusal === undefined || !last.retryable) return last
  return new TransientError(refusal.message.replace(nothingWritten, 'Then it did not answer in time.'), {
    code: 'store_refused',
    cause: last,
  })
}

function firstSentence(message: string): string {
  return (message.split(/ script: \S+, on @/)[0] as string).replace(/\.\s*$/, '')
}

function adviceFor(code: string): string {
  switch (code) {
    case 'OOM':
      return 'It is full: raise maxmemory or prune sessions.'
    case 'READONLY':
      return 'It is a read-only replica: point TROUPE_REDIS_URL (redisUrl in code) at the primary.'
    case 'NOREPLICAS':
      return 'Too few of its replicas are connected (min-replicas-to-write): start them, or lower that.'
    case 'MOVED':
    case 'ASK':
    case 'TRYAGAIN':
      return 'A slot of the cluster is on its way to another server.'
    case 'CLUSTERDOWN':
      return 'A part of the cluster is away: `troupe doctor` names the servers that do not answer.'
    case 'MISCONF':
      return 'It cannot save to disk: free some space, or see its log.'
    default:
      return 'Try again.'
  }
}

/** How long to wait before the call is repeated, in ms. `attempt` is counted from 0. */
export function pauseAfter(attempt: number): number {
  return Math.min(20 * 2 ** attempt, 1_000) * (0.5 + Math.random() / 2)
}
