/**
 * Duty: the events of a session as lines for people: `12:00:01  reader docs  waiting on 3 children`.
 * LINES-1 One commit of one worker is one line: what it spawned, and the state of its run. A batch of commits has one line for each
 *         of its workers, which names that worker.
 * LINES-2 An event that only repeats another line is left out, such as a parent that receives the result of a child.
 * LINES-3 The text of a failure is shown once for each worker. The failure of the worker whose result is printed at the end is left
 *         to that result.
 */

import type { Member, Roster } from '../../client/event/activity.ts'
import { answerCommand } from '../../client/person/answer-command.ts'
import type { RawEvent } from '../../core/event/event.ts'
import type { ContextChange } from '../../core/history/entry.ts'
import type { AskSort } from '../../core/worker/ask/ask.ts'
import type { Failure } from '../../core/worker/run/failure.ts'
import { inAndOut } from '../amounts.ts'
import { configurationText } from '../configuration-text.ts'
import { formatDuration, formatTime } from '../duration.ts'
import { escapeLine } from '../text/escape.ts'
import { failureCause, failureSentence, stringOr, withPlace } from './message-line.ts'

export class EventLines {
  readonly #resultOf: string | undefined
  /** The message of the failure that was shown last, by worker. */
  readonly #failures = new Map<string, string>()

  /** `resultOf`: the worker whose result is printed after all lines. */
  constructor(resultOf?: string) {
    this.#resultOf = resultOf
  }

  /** The lines for events that were stored together. The roster has noted the events before. */
  of(events: readonly RawEvent[], roster: Roster): string[] {
    return [...Map.groupBy(events, ({ workerId }) => workerId)].flatMap(([workerId, own]) => {
      const member = roster.member(workerId)
      const parts = [
        spawnedPart(own, member),
        startedPart(own),
        succeededPart(own),
        ...own.map((event) => this.#failurePart(event) ?? nodePart(event) ?? eventPart(event, member)),
      ].filter((part) => part !== undefined)
      if (parts.length === 0) return []
      const label = roster.labelOf(workerId) ?? workerId
      return [`${formatTime(own[0]?.at ?? 0)}  ${escapeLine(label)}  ${escapeLine(parts.join('; '))}`]
    })
  }

  #failurePart({ type, workerId, details }: RawEvent): string | undefined {
    if (type !== 'turn.retried' && type !== 'worker.failed') return undefined
    const failure = details.failure as Failure
    const isRepeated = this.#failures.get(workerId) === failure.message
    this.#failures.set(workerId, failure.message)
    if (type === 'turn.retried') {
      const next = `next in ${formatDuration(Number(details.retryMs))}`
      const attempt = `attempt ${String(details.attempt)} failed`
      return isRepeated ? `${attempt} in the same way, ${next}` : `${attempt}, ${next}: ${failureCause(failure)}`
    }
    if (workerId !== this.#resultOf && !isRepeated) return `failed: ${failureSentence(failure)}`
    return failure.attempt > 1 ? `failed after ${failure.attempt} attempts` : 'failed'
  }
}

function spawnedPart(events: readonly RawEvent[], member: Member | undefined): string | undefined {
  const kinds = events.filter(({ type }) => type === 'worker.spawned').map(({ details }) => String(details.kind))
  if (kinds.length === 0) return undefined
  const open = member?.openChildren ?? 0
  const waiting = member?.activity === 'waiting' ? `, waiting on ${open} ${open === 1 ? 'child' : 'children'}` : ''
  return `spawned ${counted(kinds)}${waiting}`
}

/** Tools that start in this commit and do not end in it. */
function startedPart(events: readonly RawEvent[]): string | undefined {
  const ended = new Set(events.filter(({ type }) => isToolEnd(type)).map(({ details }) => details.toolCallId))
  const names = events
    .filter(({ type, details }) => type === 'tool.started' && !ended.has(details.toolCallId))
    .map(({ details }) => stringOr(details.toolName, 'a tool'))
  return names.length === 0 ? undefined : `runs ${counted(names)}`
}

function isToolEnd(type: RawEvent['type']): boolean {
  return type === 'tool.succeeded' || type === 'tool.failed' || type === 'tool.unknown'
}

/** `ran read_file in 12ms`; several in one commit: `ran 3 read_file, list_files`. */
function succeededPart(events: readonly RawEvent[]): string | undefined {
  const found = events.filter(({ type }) => type === 'tool.succeeded').map(({ details }) => details)
  if (found.length === 0) return undefined
  return `ran ${counted(found.map(({ toolName }) => stringOr(toolName, 'a tool')))}${found.length === 1 ? took(found[0]?.ms) : ''}`
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

function repliedPart(type: 'model.replied' | 'model.blanked', details: RawEvent['details']): string {
  if (type === 'model.blanked') return `${stringOr(details.model, 'the model')} replied with nothing`
  const { model, calls, inputTokens, outputTokens, finishReason } = details
  const number = Number(calls ?? 0)
  const asked = number === 0 ? '' : `, calls ${number === 1 ? 'a tool' : `${number} tools`}`
  const used = inputTokens === undefined ? '' : ` (${inAndOut(inputTokens, outputTokens)})`
  const ended = finishReason === undefined ? '' : `, ended by ${stringOr(finishReason)}`
  return `${stringOr(model, 'the model')} replied${used}${asked}${ended}`
}

function donePart(at: number, startedAt: number): string {
  return startedAt >= at ? 'done' : `done in ${formatDuration(at - startedAt)}`
}

function cancellingPart(type: `${'session' | 'worker'}.cancelRequested`, details: RawEvent['details']): string {
  const what = type === 'session.cancelRequested' ? 'session' : details.what === 'run' ? 'run' : 'worker'
  const { reason } = details
  return reason ? `cancelling the ${what}: ${stringOr(reason)}` : `cancelling the ${what}`
}

function limitedPart({ by, ...limits }: RawEvent['details']): string {
  const set = Object.entries(limits).map(([name, most]) => `${name} ${String(most)}`)
  return `limits set${whoAndWhy({ by })}: ${set.join(', ')}`
}

function approvalPart({ policy, tool, by }: RawEvent['details']): string {
  const what =
    tool === undefined ? `the approval policy is ${stringOr(policy)}` : `the tool ${stringOr(tool)} is trusted`
  return `${what}${whoAndWhy({ by })}`
}

function whoAndWhy({ by, why }: RawEvent['details']): string {
  return `${by ? ` by ${stringOr(by)}` : ''}${why ? `: ${stringOr(why)}` : ''}`
}

/** The words for what somebody changed of a session. */
function sessionPart(
  type:
    | 'session.paused'
    | 'session.resumed'
    | 'session.closeRequested'
    | 'session.retried'
    | 'session.forked'
    | 'session.approvalChanged'
    | 'session.limited',
  details: RawEvent['details'],
): string {
  switch (type) {
    case 'session.paused':
    case 'session.resumed':
      return `the session is ${type === 'session.paused' ? 'paused' : 'resumed'}${whoAndWhy(details)}`
    case 'session.closeRequested':
      return `the session is closed${whoAndWhy(details)}`
    case 'session.retried':
      return `run ${String(details.run)} goes on${whoAndWhy({ by: details.by })} at its failed step: ${stringOr(details.step)}`
    case 'session.forked':
      return `forked: session ${stringOr(details.into)}${details.dryRun ? ', a dry run,' : ''} goes on from here as well`
    case 'session.approvalChanged':
      return approvalPart(details)
    case 'session.limited':
      return limitedPart(details)
  }
}

/** The words for what became of the node of a worker. The worker is queued again by then. */
function nodePart({ type, details: { starts, lastWords } }: RawEvent): string | undefined {
  if (type === 'worker.blocked') return stringOr(lastWords, 'blocks the event loop of its node')
  if (type !== 'worker.interrupted') return undefined
  const count = Number(starts) > 0 ? ` after start ${String(starts)}` : ''
  const why = typeof lastWords === 'string' ? `: ${lastWords}` : ''
  return `lost its node${count}, and goes on as soon as a node takes it${why}`
}

/** `fetch_page failed in 12ms: no such host, at tools/fetch.ts:8:9` */
function failedToolPart(type: string, { toolName, ms, error, thrownAt }: RawEvent['details']): string {
  if (type === 'tool.unknown') return `it is unknown whether ${stringOr(toolName, 'a tool')} took effect`
  const what = `${stringOr(toolName, 'a tool')} failed${took(ms)}`
  return typeof error === 'string' ? `${what}: ${withPlace(error, thrownAt)}` : what
}

function askPart(type: string, { id, sort, question, by, decision }: RawEvent['details']): string {
  if (type === 'ask.opened') {
    const what = sort === 'signal' ? 'waits for the signal' : 'asks:'
    const how = sort === 'approval' ? 'decide with' : 'answer with'
    return `${what} ${stringOr(question)} (${how}: ${answerCommand(stringOr(id), sort as AskSort)})`
  }
  if (type === 'ask.expired') return 'got no answer in time'
  const what = decision === 'approve' ? 'was approved' : decision === 'deny' ? 'was denied' : 'was answered'
  return by === undefined ? what : `${what} by ${stringOr(by)}`
}

function contextPart(type: string, details: RawEvent['details']): string {
  const { tokensBefore, tokensAfter, reason, results } = details
  if (type === 'worker.configured') return `configured: ${configurationText(details)}`
  if (type === 'context.changed') return changedPart(details)
  if (type === 'context.cleared') return `${String(results)} old results of tools were cleared from its prompts`
  return type === 'compaction.failed'
    ? `its conversation could not be compacted: ${stringOr(reason)}`
    : `its conversation was compacted from ${String(tokensBefore)} to ${String(tokensAfter)} tokens`
}

const changedParts: Readonly<Record<ContextChange, string>> = {
  expanded: 'its last summary was taken back',
  undone: 'its last turn was taken back',
  redone: 'its last turn counts again',
  pushed: 'a message was added to its history',
}

function changedPart({ how, by }: RawEvent['details']): string {
  const what = changedParts[how as ContextChange] ?? stringOr(how)
  return by === undefined ? what : `${what} by ${stringOr(by)}`
}

const shortParts = {
  'worker.cancelled': 'cancelled',
  'events.trimmed': 'earlier events are no longer kept; `troupe session show` shows the state of all workers',
  'message.deadLettered': 'a message was put aside as a dead letter',
  'message.redriven': 'a dead letter was put back into the mailbox',
  'message.undelivered': 'a message to a worker of another partition was not taken',
} as const

function shortPart(type: keyof typeof shortParts, { by }: RawEvent['details']): string {
  return type === 'message.redriven' ? shortParts[type] + whoAndWhy({ by }) : shortParts[type]
}

/** A warning that is transient has none: a line of the worker's log says the same. */
function eventPart({ type, at, details, transient }: RawEvent, member: Member | undefined): string | undefined {
  switch (type) {
    case 'run.started':
      // Any further step of the run is in the same commit, unless the worker is still busy with it.
      return member?.activity === 'working' ? 'started' : undefined
    case 'ask.opened':
    case 'ask.answered':
    case 'ask.expired':
      return askPart(type, details)
    case 'run.completed':
      return donePart(at, member?.startedAt ?? at)
    case 'run.warned':
      return transient ? undefined : `warning: ${stringOr(details.warning)}`
    case 'step.recorded':
      return `recorded step ${stringOr(details.name)}`
    case 'worker.cancelled':
    case 'events.trimmed':
    case 'message.deadLettered':
    case 'message.undelivered':
    case 'message.redriven':
      return shortPart(type, details)
    case 'worker.cancelRequested':
    case 'session.cancelRequested':
      return cancellingPart(type, details)
    case 'session.paused':
    case 'session.resumed':
    case 'session.closeRequested':
    case 'session.retried':
    case 'session.forked':
    case 'session.approvalChanged':
    case 'session.limited':
      return sessionPart(type, details)
    case 'model.replied':
    case 'model.blanked':
      return repliedPart(type, details)
    case 'context.compacted':
    case 'compaction.failed':
    case 'context.cleared':
    case 'worker.configured':
    case 'context.changed':
      return contextPart(type, details)
    case 'tool.failed':
    case 'tool.unknown':
      return failedToolPart(type, details)
    case 'tool.started':
    case 'tool.succeeded':
    case 'text.delta':
    case 'reasoning.delta':
    case 'tool.progress':
    case 'worker.logged':
    case 'iteration.completed':
    case 'worker.stateChanged':
    case 'events.dropped':
    case 'message.accepted':
    case 'message.consumed':
    case 'session.cancelled':
    case 'session.completed':
    case 'session.created':
    case 'session.failed':
    case 'worker.spawned':
    case 'turn.retried':
    case 'worker.failed':
    case 'worker.interrupted':
    case 'worker.blocked':
      // Other parts show the tools of a commit, failures and nodes. Tool events that are not stored belong to no commit.
      return undefined
  }
}
