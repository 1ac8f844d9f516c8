/**
 * Duty: find the tool calls without a result in the newest entries of an agent's history, and answer them when their run fails or is
 * cancelled and nothing else will answer them.
 * OPEN-CALLS-1 Only the newest reply can have open calls. Entries before it are not needed.
 * OPEN-CALLS-2 Entries that cannot be read are passed over.
 * OPEN-CALLS-3 A `once` call that was started is never answered with "it did not finish", because a model that reads this would make
 *              the call again.
 * OPEN-CALLS-4 If somebody let a failed run go on, the calls that it runs again are open until they are answered anew.
 */
import { readChatMessage } from '../chat/chat-codec.ts'
import { type Json, type ToolOutput, type ToolStatus, toolCallsOf } from '../chat/chat-message.ts'
import { type Entry, entryJson, type RetriedEntry } from '../entry.ts'

export interface OpenCall {
  readonly toolCallId: string
  readonly toolName: string
  /** True for a `once` call that is recorded as started, and for a recipe of which a `once` step is. */
  readonly isStarted?: true
  /** Ids of these steps. */
  readonly steps?: readonly string[]
}

export interface OpenCalls {
  readonly calls: readonly OpenCall[]
  /** The run of the reply that made these calls, and the newest epoch among the entries. */
  readonly run: number
  readonly epoch: number
}

const none: OpenCalls = { calls: [], run: 0, epoch: 0 }
const runEnds: ReadonlySet<string> = new Set<Entry['type']>(['completed', 'failed', 'cancelled'])

/** Reads the newest entries of a history, in order. Returns null if they do not reach back to the newest reply. */
export function openCallsIn(all: readonly Entry[]): OpenCalls | null {
  const newest = withoutTakenBack(all)
  const last = newest.findLastIndex((entry) => runEnds.has(entry.type) || callsOfReply(entry) !== null)
  const reply = newest[last]
  if (reply === undefined) return null
  if (runEnds.has(reply.type)) return none
  const since = newest.slice(last)
  // A damaged number is read as 1: the entries that answer the calls must be readable.
  const epochs = since.map(({ epoch }) => wholeOr1(epoch))
  return { calls: since.reduce(openCallsAfter, []), run: wholeOr1(reply.run), epoch: Math.max(...epochs) }
}

/** A failed run that goes on has not ended, and nothing is known of the calls that it runs again (OPEN-CALLS-4). */
function withoutTakenBack(entries: readonly Entry[]): readonly Entry[] {
  let left: Entry[] = []
  for (const entry of entries) {
    if (entry.type === 'retried') left = left.filter((one) => !takesBack(entry, one))
    left.push(entry)
  }
  return left
}

function takesBack({ run, reopened = [] }: RetriedEntry, entry: Entry): boolean {
  if (entry.type === 'failed') return entry.run === run
  const isOfCall = entry.type === 'toolResult' || entry.type === 'toolStarted' || entry.type === 'subCallStarted'
  return isOfCall && reopened.includes(entry.toolCallId)
}

const wholeOr1 = (number: unknown) => (Number.isSafeInteger(number) ? (number as number) : 1)

/** The calls that are open after this entry. */
export function openCallsAfter(open: readonly OpenCall[], entry: Entry): readonly OpenCall[] {
  switch (entry.type) {
    case 'assistant':
      return callsOfReply(entry) ?? open
    case 'toolStarted':
      return open.map((call) => (call.toolCallId === entry.toolCallId ? { ...call, isStarted: true } : call))
    // A part of what the call does has begun.
    case 'subCallStarted':
      return open.map((call) => (call.toolCallId === entry.toolCallId ? withStep(call, entry.id) : call))
    case 'attemptFailed':
      return open.map((call) => withoutEffect(call, entry.toolCallIds ?? []))
    case 'toolResult':
      return open.filter(({ toolCallId }) => toolCallId !== entry.toolCallId)
    default:
      return open
  }
}

/** Null for an entry that is no reply, or that cannot be read. */
function callsOfReply(entry: Entry): OpenCall[] | null {
  if (entry.type !== 'assistant') return null
  const reply = readChatMessage(entry)
  return reply?.type === 'assistant' ? toolCallsOf(reply).map(notStarted) : null
}

function withStep(call: OpenCall, id: string): OpenCall {
  return { ...call, isStarted: true, steps: [...(call.steps ?? []), id] }
}

/** The call, if these calls and steps reported that nothing took effect. */
function withoutEffect(call: OpenCall, ids: readonly string[]): OpenCall {
  if (ids.includes(call.toolCallId)) return notStarted(call)
  const steps = call.steps?.filter((id) => !ids.includes(`${call.toolCallId}/${id}`))
  if (steps === undefined || steps.length === call.steps?.length) return call
  return steps.length === 0 ? notStarted(call) : { ...call, steps }
}

function notStarted({ toolCallId, toolName }: OpenCall): OpenCall {
  return { toolCallId, toolName }
}

/** The result that a model sees for a call that nothing will answer any more. */
export const cancelledText = 'This call was cancelled: it did not finish.'

export function unknownOutcomeText(name: string): string {
  return (
    `The outcome of this call of '${name}' is unknown: it was started, and nobody knows whether it took effect. ` +
    'Do not assume that it failed, and do not call it again before you have looked at what it would have changed.'
  )
}

/** The result that a model sees for a call that a message interrupted. */
export const interruptedText = 'This call was interrupted by the message that follows: it did not finish.'

/** How a tool call ended, as the tool itself reported it. */
export interface CallOutcome {
  readonly status: ToolStatus
  readonly output: ToolOutput
  readonly facts?: Readonly<Record<string, Json>>
}

/** The result of a call that nothing else will answer. `reported`: how it ended, if that is known. */
export function lastResult(
  { toolCallId, toolName, isStarted }: OpenCall,
  id: string,
  reported?: CallOutcome,
  text = cancelledText,
) {
  const head = { id, toolCallId, toolName }
  if (reported !== undefined) return { ...head, ...reported }
  const [status, value] = isStarted
    ? (['unknown', unknownOutcomeText(toolName)] as const)
    : (['cancelled', text] as const)
  const output = { type: 'error-text', value } as const
  return { ...head, status, output }
}

/** The history entries that answer these calls. The store writes them when no node runs the agent. */
export function lastEntries({ calls, run, epoch }: OpenCalls, at: number): string[] {
  return calls.map((call) => {
    return entryJson('toolResult', run, epoch, at, lastResult(call, `cancelled-${call.toolCallId}`))
  })
}
