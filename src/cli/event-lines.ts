/**
 * Duty: what happened, in lines for people: `12:00:01  reader docs  waiting on 3 children`.
 * One commit of a worker is one line: what it spawned, how its run stands. What only repeats another line (a parent that receives
 * what its child just ended with) is left out.
 */
import type { TroupeEvent } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import { formatDuration, formatTime } from './duration.ts'
import { escapeLine } from './escape.ts'
import { failureCause, failureSentence } from './failure-text.ts'
import type { Member, Roster } from './roster.ts'
import { textOf } from './text-of.ts'

/** The line for the events of one commit, or undefined when there is nothing to tell. The roster has noted them already. */
export function eventLine(events: readonly TroupeEvent[], roster: Roster): string | undefined {
  const first = events[0]
  if (!first) return undefined
  const member = roster.member(first.workerId)
  const parts = [spawnedPart(events, member), ...events.map((event) => eventPart(event, member))].filter(
    (part) => part !== undefined,
  )
  if (parts.length === 0) return undefined
  return `${formatTime(first.at)}  ${escapeLine(labelOf(member, first.workerId))}  ${escapeLine(parts.join('; '))}`
}

function spawnedPart(events: readonly TroupeEvent[], member: Member | undefined): string | undefined {
  const kinds = events.filter(({ type }) => type === 'worker.spawned').map(({ details }) => String(details.kind))
  if (kinds.length === 0) return undefined
  const counted = [...Map.groupBy(kinds, (kind) => kind)].map(([kind, { length }]) =>
    length === 1 ? kind : `${length} ${kind}`,
  )
  const open = member?.openChildren ?? 0
  const waiting = member?.activity === 'waiting' ? `, waiting on ${open} ${open === 1 ? 'child' : 'children'}` : ''
  return `spawned ${counted.join(', ')}${waiting}`
}

function eventPart({ type, at, details }: TroupeEvent, member: Member | undefined): string | undefined {
  switch (type) {
    case 'run.started':
      // What it does next is told by the same commit, unless it is still at it.
      return member?.activity === 'running' ? 'started' : undefined
    case 'run.completed':
      return member?.startedAt == null || member.startedAt >= at
        ? 'done'
        : `done in ${formatDuration(at - member.startedAt)}`
    case 'worker.failed':
      return `failed: ${failureSentence(details.failure as Failure)}`
    case 'worker.cancelled':
      return 'cancelled'
    case 'turn.retried':
      return `try ${String(details.attempt)} failed, again in ${formatDuration(Number(details.retryMs))}: ${failureCause(details.failure as Failure)}`
    case 'events.trimmed':
      return 'events before this one are no longer kept; `troupe session show` tells how things stand'
    case 'message.deadLettered':
      return 'a message was put aside as a dead letter'
    case 'session.cancelRequested':
      return details.reason ? `cancelling the session: ${textOf(details.reason)}` : 'cancelling the session'
    case 'message.accepted':
    case 'message.consumed':
    case 'session.cancelled':
    case 'session.completed':
    case 'session.created':
    case 'session.failed':
    case 'turn.parked':
    case 'worker.spawned':
    case 'worker.stateChanged':
      return undefined
  }
}

function labelOf(member: Member | undefined, id: string): string {
  if (!member) return id
  return member.name.startsWith(member.kind) || member.name === ''
    ? member.name || member.kind
    : `${member.kind} ${member.name}`
}
