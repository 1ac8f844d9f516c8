/**
 * Duty: the last words of a node: what it says of its death, or of code that blocks it, in one sentence for people; or what an operator says of one
 * that says nothing any more. They stand in the records of the workers that it ran, until one of them commits.
 * Does not own: how they get there (src/watchdog).
 */
import { redactSentence } from '../secret/redact.ts'

/** The call of user code that is meant. */
export interface UserCall {
  readonly workerId: string
  readonly sessionId: string
  readonly kind: string
  /** What the code is: `receive`, `tool "fetch" (call_1)`, `instructions`. */
  readonly what: string
}

/** What ended or blocked the node. */
export interface Cause {
  readonly sort: 'threw' | 'exited' | 'blocked'
  /** `TypeError: no such thing`, `process.exit(3)`; of a block the seconds, as a text. */
  readonly what: string
  readonly thrownAt?: string | undefined
}

export interface NodeName {
  readonly id: string
  readonly host: string
  readonly pid: number
}

const charsMax = 600

/** Without a call nobody knows whose code it was. */
export function lastWordsOf({ sort, what, thrownAt }: Cause, call: UserCall | undefined, node: NodeName): string {
  const where = `node ${node.id} (process ${node.pid} on ${node.host})`
  const at = thrownAt === undefined ? '' : `, at ${thrownAt}`
  const whose = call === undefined ? '' : `, in ${call.what} of kind ${call.kind}, worker ${call.workerId}`
  const said = redactSentence(what)
  const text =
    sort === 'threw'
      ? `${where} ended by an error that no code caught: ${said}${at}${whose}`
      : sort === 'exited'
        ? `${where} ended, because something called ${said}${at}${whose}`
        : `code blocked the event loop of ${where} for ${said}${at}${whose}`
  return withoutEscapes(cut(text))
}

/** The words of an operator about a node that stands still, whose work they give to others. */
export function releaseWordsOf(
  { id, host, pid }: { readonly id: string; readonly host: string | null; readonly pid: number | null },
  silentMs: number,
  { by, why }: { readonly by?: string; readonly why?: string },
): string {
  const where = pid === null ? '' : ` (process ${pid} on ${host ?? 'an unknown host'})`
  const reason = why === undefined ? '' : `: ${redactSentence(why)}`
  const text = `node ${id}${where} was silent for ${Math.round(silentMs / 1_000)} s, and ${by ?? 'somebody'} released its work${reason}`
  return withoutEscapes(cut(text))
}

function cut(text: string): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`
}

/** Scripts write the words into JSON as they are. */
function withoutEscapes(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replaceAll(/\p{Cc}+/gu, ' ')
}
