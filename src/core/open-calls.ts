/**
 * Duty: the calls that an agent's history holds without a result, as its newest entries tell; and what answers them when nothing
 * else will, because their run is cancelled.
 * O1 Only the newest reply can have such calls: what came before it is never needed. O2 What cannot be read is passed over.
 */
import { readChatMessage } from './chat-codec.ts'
import { toolCallsOf } from './chat-message.ts'
import { type Entry, entryJson } from './entry.ts'

export interface OpenCall {
  readonly toolCallId: string
  readonly toolName: string
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
  const answered = new Set<string>()
  let epoch = 0
  for (const entry of newest.toReversed()) {
    if (runEnds.has(entry.type)) return none
    if (entry.type === 'toolResult') answered.add(entry.toolCallId)
    const reply = entry.type === 'assistant' ? readChatMessage(entry) : null
    if (entry.type === 'assistant' && reply?.type === 'assistant') {
      const calls = toolCallsOf(reply).filter(({ toolCallId }) => !answered.has(toolCallId))
      return { calls, run: entry.run, epoch: Math.max(epoch, entry.epoch) }
    }
    if (typeof entry.epoch === 'number') epoch = Math.max(epoch, entry.epoch)
  }
  return null
}

/** What a model is told of a call that nothing will answer any more. */
export const cancelledText = 'This call was cancelled: it did not finish.'

export function cancelledResult({ toolCallId, toolName }: OpenCall, id: string) {
  const output = { type: 'error-text', value: cancelledText } as const
  return { type: 'toolResult', id, toolCallId, toolName, status: 'cancelled', output } as const
}

/** The history entries that answer them, written when nobody runs the agent. */
export function cancelledEntries({ calls, run, epoch }: OpenCalls, at: number): string[] {
  return calls.map((call) => {
    const { type, ...facts } = cancelledResult(call, `cancelled-${call.toolCallId}`)
    return entryJson(type, run, epoch, at, facts)
  })
}
