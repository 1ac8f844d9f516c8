/** Histories and records of agents by hand: a reply with calls, its results, and the commit that leaves it all at rest. */
import type { Entry } from '../../../src/core/history/entry.ts'
import type { CommitWish, HandTurn } from './hand-node.ts'
import type { Place } from './place.ts'

/** At no instant that dumps would tell by how long ago it was. */
const head = { v: 1, at: 1, run: 1, epoch: 1 }

/** An agent's record keeps its tally here; how much it used is no matter. */
export const tally = 'a 1 1 0 0 0 0 0 0'

export function said(text: string): string {
  return JSON.stringify({ type: 'inbox', ...head, id: 'm0', content: [{ type: 'text', text }] })
}

/** The model asks for a tool called like the call's id. */
export function asked(...ids: string[]): string {
  const content = ids.map((id) => ({ type: 'tool-call', toolCallId: id, toolName: `tool-${id}`, input: {} }))
  const usage = { inputTokens: 0, outputTokens: 0 }
  const finishReason = 'tool-calls'
  return JSON.stringify({ type: 'assistant', ...head, id: 'm1', model: 'test/m', content, finishReason, usage })
}

export function answered(toolCallId: string): string {
  const output = { type: 'text', value: 'fine' }
  const facts = { toolCallId, toolName: `tool-${toolCallId}`, status: 'ok', output }
  return JSON.stringify({ type: 'toolResult', ...head, id: `m-${toolCallId}`, ...facts })
}

/** The turn of an agent ends within its run. */
export function rest(turn: HandTurn, entries: readonly string[], wish: CommitWish = {}): Promise<unknown> {
  const end = { wait: 'any', next: null }
  return turn.record({ entries, inputsConsumed: 1, runState: 'ExecutingTools', stateJson: tally, end, ...wish })
}

/** What came of calls: `<id> <status>` in the order of the history, and how the run ended. */
export async function outcomes(place: Place, workerId: string): Promise<string[]> {
  const log = await place.redis.lrange(place.workerKeys(workerId).log, 0, -1)
  return log.flatMap((json) => {
    const entry = parsed(json)
    if (entry?.type === 'toolResult') return [`${entry.toolCallId} ${entry.status}`]
    return entry?.type === 'cancelled' ? ['cancelled'] : []
  })
}

function parsed(json: string): Entry | null {
  try {
    return JSON.parse(json) as Entry
  } catch {
    return null
  }
}
