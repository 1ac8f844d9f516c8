/** What holds for the results of calls in a history: each call has one, and one more for each retry that ran it again. */
import { toolCallsOf } from '../../../src/core/history/chat/chat-message.ts'
import type { Entry } from '../../../src/core/history/entry.ts'

const named = (id: string, run: number) => `${id} of run ${run}`

/** Ids tell calls apart only within a run: once a turn is taken back, its ids are free. */
export function resultFaults(entries: readonly Entry[]): string[] {
  const results = entries.filter((entry) => entry.type === 'toolResult')
  const again = entries.flatMap((entry) =>
    entry.type === 'retried' ? (entry.reopened ?? []).map((id) => named(id, entry.run)) : [],
  )
  return [...Map.groupBy(results, ({ toolCallId, run }) => named(toolCallId, run))]
    .filter(([call, of]) => of.length > 1 + again.filter((one) => one === call).length)
    .map(([call, of]) => `has ${of.length} results of the call ${call}`)
}

/** Of a worker that rests. */
export function openCallFaults(entries: readonly Entry[]): string[] {
  const answered = new Set(
    entries.flatMap((entry) => (entry.type === 'toolResult' ? named(entry.toolCallId, entry.run) : [])),
  )
  return entries
    .flatMap((entry) =>
      entry.type === 'assistant' ? toolCallsOf(entry).map(({ toolCallId }) => named(toolCallId, entry.run)) : [],
    )
    .filter((call) => !answered.has(call))
    .map((call) => `has no result of the call ${call}`)
}
