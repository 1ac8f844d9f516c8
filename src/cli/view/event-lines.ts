/**
 * Duty: what happened, in lines for people: `12:00:01  reader docs  waiting on 3 children`.
 * One commit of a worker is one line: what it spawned, how its run stands. What only repeats another line (a parent that receives
 * what its child just ended with) is left out.
 */
import type { RawEvent } from '../../core/event/event.ts'
import type { Failure } from '../../core/worker/failure.ts'
import { escapeLine } from '../terminal/escape.ts'
import { formatDuration, formatTime } from './duration.ts'
import { failureCause, failureSentence } from './failure-text.ts'
import type { Member, Roster } from './roster.ts'
import { textOf } from './text-of.ts'
import { inAndOut } from './tokens.ts'

/** The line for the events of one commit, or undefined when there is nothing to tell. The roster has noted them already. */
export function eventLine(events: readonly RawEvent[], roster: Roster): string | undefined {
  const first = events[0]
  if (!first) return undefined
  const member = roster.member(first.workerId)
  const parts = [
    spawnedPart(events, member),
    startedPart(events),
    succeededPart(events),
    ...events.map((event) => eventPart(event, member)),
  ].filter((part) => part !== undefined)
  if (parts.length === 0) return undefined
  return `${formatTime(first.at)}  ${escapeLine(labelOf(member, first.workerId))}  ${escapeLine(parts.join('; '))}`
}

function spawnedPart(events: readonly RawEvent[], member: Member | undefined): string | undefined {
  const kinds = events.filter(({ type }) => type === 'worker.spawned').map(({ details }) => String(details.kind))
  if (kinds.length === 0) return undefined
  const open = member?.openChildren ?? 0
  const waiting = member?.activity === 'waiting' ? `, waiting on ${open} ${open === 1 ? 'child' : 'children'}` : ''
  return `spawned ${counted(kinds)}${waiting}`
}

/** Tools that are about to run: only what is still at it when the commit ends. */
function startedPart(events: readonly RawEvent[]): string | undefined {
  const ended = new Set(events.filter(({ type }) => isToolEnd(type)).map(({ details }) => details.toolCallId))
  const names = events
    .filter(({ type, details }) => type === 'tool.started' && !ended.has(details.toolCallId))
    .map(({ details }) => textOf(details.toolName, 'a tool'))
  return names.length === 0 ? undefined : `runs ${counted(names)}`
}

function isToolEnd(type: RawEvent['type']): boolean {
  return type === 'tool.succeeded' || type === 'tool.failed' || type === 'tool.unknown'
}

/** `ran read_file in 12ms`; several in one commit: `ran 3 read_file, list_files`. */
function succeededPart(events: readonly RawEvent[]): string | undefined {
  const found = events.filter(({ type }) => type === 'tool.succeeded').map(({ details }) => details)
  if (found.length === 0) return undefined
  return `ran ${counted(found.map(({ toolName }) => textOf(toolName, 'a tool')))}${found.length === 1 ? took(found[0]?.ms) : ''}`
}

function took(ms: unknown): string {
  return typeof ms === 'number' ? ` in ${formatDuration(ms)}` : ''
}

/** `3 reader, writer` */
function counted(names: readonly string[]): string {
  return [...Map.groupBy(names, (name) => name)]
    .map(([name, { length }]) => (length === 1 ? name : `${length} ${name}`))
    .join(', ')
}

function repliedPart(details: RawEvent['details']): string {
  const { model, calls, inputTokens, outputTokens, finishReason } = details
  const number = Number(calls ?? 0)
  const asked = number === 0 ? '' : `, calls ${number === 1 ? 'a tool' : `${number} tools`}`
  const used = inputTokens === undefined ? '' : ` (${inAndOut(inputTokens, outputTokens)})`
  const ended = finishReason === undefined ? '' : `, ended by ${textOf(finishReason)}`
  return `${textOf(model, 'the model')} replied${used}${asked}${ended}`
}

function eventPart({ type, at, details }: RawEvent, member: Member | undefined): string | undefined {
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
    case 'message.redriven':
      return 'a dead letter was put back into the mailbox'
    case 'session.cancelRequested':
      return details.reason ? `cancelling the session: ${textOf(details.reason)}` : 'cancelling the session'
    case 'session.limited':
      return `limits set: ${Object.entries(details)
        .map(([name, most]) => `${name} ${String(most)}`)
        .join(', ')}`
    case 'model.replied':
      return repliedPart(details)
    case 'model.blanked':
      return `${textOf(details.model, 'the model')} replied with nothing`
    case 'tool.failed':
      return `${textOf(details.toolName, 'a tool')} failed${took(details.ms)}`
    case 'tool.unknown':
      return `whether ${textOf(details.toolName, 'a tool')} took effect is unknown`
    case 'tool.started':
    case 'tool.succeeded':
      // Told for all of the commit together.
      return undefined
    case 'text.delta':
    case 'reasoning.delta':
    case 'tool.progress':
      // Not of a commit.
      return undefined
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
