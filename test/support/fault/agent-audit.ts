/** Rules that hold for agents whatever is killed when: of their histories, of what the provider was asked, of what tools did. */
import { toolCallsOf } from '../../../src/core/history/chat/chat-message.ts'
import { decodeEntry, type Entry } from '../../../src/core/history/entry.ts'
import type { EffectNote } from '../../programs/node/agent-kinds.ts'
import { type JournalLine, wireFaults } from '../provider/provider-journal.ts'
import type { WatchedHistory } from './follower/history-watch.ts'
import type { LedgerLine } from './ledger.ts'

export interface Evidence {
  readonly histories: ReadonlyMap<string, WatchedHistory>
  readonly journal: readonly JournalLine[]
  readonly ledger: readonly LedgerLine[]
  /** When nodes died, by the ids of their processes. */
  readonly kills: ReadonlyMap<number, number>
  /** Processes of nodes that may have lost leases while they lived. */
  readonly stalled: ReadonlySet<number>
}

/** Watching and the provider are two processes with one clock, read by the millisecond. */
const slackMs = 30

/** Returns one line for each broken rule. */
export function agentFaults(evidence: Evidence): string[] {
  const lines: string[] = []
  for (const [worker, history] of evidence.histories) {
    const entries = history.texts.map(decodeEntry)
    lines.push(...pairingFaults(worker, entries), ...repeatFaults(worker, entries, history, evidence))
    lines.push(...effectFaults(worker, entries, evidence.ledger))
  }
  for (const line of evidence.journal) {
    if (!evidence.histories.has(line.worker)) lines.push(`request ${line.seq} is of no known worker`)
    lines.push(...wireFaults(line))
  }
  return lines
}

/** At rest each call has one result, after it; nobody answers twice in a row. */
function pairingFaults(worker: string, entries: readonly Entry[]): string[] {
  const lines: string[] = []
  const open = new Set<string>()
  const ever = new Set<string>()
  for (const [position, entry] of entries.entries()) {
    const say = (what: string) => lines.push(`${worker} entry ${position}: ${what}`)
    if (entry.type === 'assistant') {
      if (open.size > 0) say(`a reply while ${[...open].join(', ')} have no result`)
      for (const { toolCallId } of toolCallsOf(entry)) {
        if (ever.has(toolCallId)) say(`the id ${toolCallId} again`)
        ever.add(toolCallId)
        open.add(toolCallId)
      }
    }
    if (entry.type === 'toolResult' && !open.delete(entry.toolCallId)) say(`a result of ${entry.toolCallId}, not open`)
    if (entry.type === 'user' && open.size > 0) say('an input before the results')
  }
  if (open.size > 0) lines.push(`${worker} ends without results of ${[...open].join(', ')}`)
  return lines
}

/** A reply is asked for again only if a node was killed before the first one was recorded. */
function repeatFaults(
  worker: string,
  entries: readonly Entry[],
  { seenAt }: WatchedHistory,
  { journal, kills, stalled }: Evidence,
): string[] {
  const lines: string[] = []
  const recorded = entries.flatMap((entry, position) =>
    entry.type === 'assistant' ? [seenAt[position] as number] : [],
  )
  const bySteps = Map.groupBy(
    journal.filter((line) => line.worker === worker),
    ({ step }) => step,
  )
  for (const [step, requests] of bySteps) {
    const known = recorded[step] ?? Number.POSITIVE_INFINITY
    for (const [index, request] of requests.entries()) {
      const say = (what: string) => lines.push(`request ${request.seq} of ${worker}, step ${step}: ${what}`)
      if (request.at > known + slackMs) say(`its reply had been recorded ${request.at - known} ms before`)
      const before = requests[index - 1]
      const death = before && (kills.get(before.pid) ?? Number.POSITIVE_INFINITY)
      if (before && !stalled.has(before.pid) && (death as number) > request.at + slackMs)
        say(`asked again after ${request.at - before.at} ms, and the node of request ${before.seq} had not died`)
      if (before && JSON.stringify(before.keys) !== JSON.stringify(request.keys)) say('under another key')
    }
  }
  if (bySteps.size < recorded.length) lines.push(`${worker} has ${recorded.length} replies, asked for ${bySteps.size}`)
  return lines
}

/** Effects are those of recorded calls; those of `once` tools happened once; a repeated effect carries the same key. */
function effectFaults(worker: string, entries: readonly Entry[], ledger: readonly LedgerLine[]): string[] {
  const lines: string[] = []
  const calls = new Map(
    entries
      .flatMap((entry) => (entry.type === 'assistant' ? toolCallsOf(entry) : []))
      .map((call) => [call.toolCallId, call]),
  )
  const mine = ledger.filter((line) => line.worker === worker)
  const notes = (what: string) => mine.filter((line) => line.what === what).map(({ note }) => note as EffectNote)
  for (const note of notes('called')) {
    const call = calls.get(note.callId)
    if (!call) lines.push(`${worker}: ${note.tool} ran for ${note.callId}, which was never recorded`)
    else if (call.toolName !== note.tool) lines.push(`${worker}: ${note.callId} ran ${note.tool}, not ${call.toolName}`)
  }
  for (const [id, same] of Map.groupBy(notes('called'), ({ callId }) => callId)) {
    if (new Set(same.map(({ key }) => key)).size > 1) lines.push(`${worker}: call ${id} ran under several keys`)
  }
  for (const [key, same] of Map.groupBy(notes('called'), (note) => note.key)) {
    if (new Set(same.map(({ callId }) => callId)).size > 1)
      lines.push(`${worker}: key ${key} was given to several calls`)
  }
  for (const [label, same] of Map.groupBy(notes('effect'), (note) => `${note.tool} ${note.label}`)) {
    const isOnce = !label.startsWith('put ')
    if (isOnce && same.length > 1) lines.push(`${worker}: ${label} took effect ${same.length} times`)
  }
  for (const note of notes('called')) {
    if (note.tool === 'stamp' && notes('called').filter(({ callId }) => callId === note.callId).length > 1)
      lines.push(`${worker}: ${note.callId} of stamp was begun twice`)
  }
  return lines
}
