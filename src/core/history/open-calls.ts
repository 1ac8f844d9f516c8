/**
 * Duty: the calls that an agent's history holds without a result, as its newest entries tell; and what answers them when nothing
 * else will, because their run has failed or is cancelled.
 * O1 Only the newest reply can have such calls: what came before it is never needed. O2 What cannot be read is passed over.
 * O3 Of a `once` call that was started it is never said that it did not finish: whoever reads that would make it again.
 */
import { readChatMessage } from './chat-codec.ts'
import { type Json, type ToolOutput, type ToolStatus, toolCallsOf } from './chat-message.ts'
import { type Entry, entryJson } from './entry.ts'

export interface OpenCall {
  readonly toolCallId: string
  readonly toolName: string
  /** A `once` call that was recorded as started. */
  readonly isStarted?: true
}

export interface OpenCalls {
  readonly calls: readonly OpenCall[]
  /** The run of the reply that made them, and the newest epoch among the entries. */
  readonly run: number
  readonly epoch: number
}

const none: OpenCalls = { calls: [], run: 0, epoch: 0 }
const runEnds: ReadonlySet<string> = new Set<Entry['type']>(['completed', 'failed', 'cancelled'])

/** By the newest entries of a history, in order; null when they do not reach back to its newest reply. */
export function openCallsIn(newest: readonly Entry[]): OpenCalls | null {
  const last = newest.findLastIndex((entry) => runEnds.has(entry.type) || callsOfReply(entry) !== null)
  const reply = newest[last]
  if (reply === undefined) return null
  if (runEnds.has(reply.type)) return none
  const since = newest.slice(last)
  // Of a number over which somebody wrote nothing is said: what answers the calls must be readable.
  const epochs = since.map(({ epoch }) => wholeOr1(epoch))
  return { calls: since.reduce(openCallsAfter, []), run: wholeOr1(reply.run), epoch: Math.max(...epochs) }
}

const wholeOr1 = (number: unknown) => (Number.isSafeInteger(number) ? (number as number) : 1)

/** The open calls when this entry has followed. */
export function openCallsAfter(open: readonly OpenCall[], entry: Entry): readonly OpenCall[] {
  switch (entry.type) {
    case 'assistant':
      return callsOfReply(entry) ?? open
    case 'toolStarted':
      return open.map((call) => (call.toolCallId === entry.toolCallId ? { ...call, isStarted: true } : call))
    case 'attemptFailed':
      return open.map((call) => (entry.toolCallIds?.includes(call.toolCallId) ? notStarted(call) : call))
    case 'toolResult':
      return open.filter(({ toolCallId }) => toolCallId !== entry.toolCallId)
    default:
      return open
  }
}

/** Null of what is no reply, or cannot be read. */
function callsOfReply(entry: Entry): OpenCall[] | null {
  if (entry.type !== 'assistant') return null
  const reply = readChatMessage(entry)
  return reply?.type === 'assistant' ? toolCallsOf(reply).map(notStarted) : null
}

function notStarted({ toolCallId, toolName }: OpenCall): OpenCall {
  return { toolCallId, toolName }
}

/** What a model is told of a call that nothing will answer any more. */
export const cancelledText = 'This call was cancelled: it did not finish.'

export function unknownOutcomeText(name: string): string {
  return (
    `The outcome of this call of '${name}' is unknown: it was started, and nobody knows whether it took effect. ` +
    'Do not assume that it failed, and do not call it again before you have looked at what it would have changed.'
  )
}

/** How a call of a tool ended, by the tool's own word. */
export interface OwnWord {
  readonly status: ToolStatus
  readonly output: ToolOutput
  readonly facts?: Readonly<Record<string, Json>>
}

/** The result of a call that nothing else will answer. Of one that was started its tool may have said what became of it. */
export function lastResult({ toolCallId, toolName, isStarted }: OpenCall, id: string, word?: OwnWord) {
  const head = { type: 'toolResult', id, toolCallId, toolName } as const
  if (isStarted && word !== undefined) return { ...head, ...word }
  const [status, value] = isStarted
    ? (['unknown', unknownOutcomeText(toolName)] as const)
    : (['cancelled', cancelledText] as const)
  const output = { type: 'error-text', value } as const
  return { ...head, status, output }
}

/** The history entries that answer them, written when nobody runs the agent. */
export function lastEntries({ calls, run, epoch }: OpenCalls, at: number): string[] {
  return calls.map((call) => {
    const { type, ...facts } = lastResult(call, `cancelled-${call.toolCallId}`)
    return entryJson(type, run, epoch, at, facts)
  })
}
