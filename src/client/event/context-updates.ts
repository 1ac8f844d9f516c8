/**
 * Duty: tell from the events of a session each change of state of a run, with the state before, and what came of a message.
 * UPDATES-1 It is for watching only, and costs nothing to a session that nobody follows. States that no follower was told of are taken from stored
 *           events, which know fewer of them.
 * UPDATES-2 An update names the state before if it changes the state. A message update leaves the state as it is.
 */
import type { RawEvent } from '../../core/event/event.ts'
import { type RunState, runStates } from '../../core/worker/run/run-state.ts'

/** What became of a message of the conversation, or of a call in it. */
export type MessageUpdate =
  /** An input came, or a model began to write. `messageId`: for a reply, the name of the model call. */
  | { readonly type: 'created'; readonly role: 'user' | 'assistant'; readonly messageId?: string }
  /** A piece of a reply, and the whole text so far. */
  | {
      readonly type: 'contentDelta'
      readonly messageId: string
      readonly part: 'text' | 'reasoning'
      readonly delta: string
      readonly accumulated: string
    }
  /** A reply is recorded. */
  | { readonly type: 'completed'; readonly iteration: number; readonly toolCalls: number }
  /** A tool call began, ended, or waits for an approval. */
  | {
      readonly type: 'statusChanged'
      readonly id: string
      readonly status: 'pending' | 'approved' | 'denied' | 'started' | 'succeeded' | 'failed' | 'unknown'
    }

export interface ContextUpdate {
  /** The worker, whose context it is. */
  readonly contextId: string
  readonly currentState: RunState
  /** Set if the state has changed. */
  readonly previousState?: RunState
  readonly messageUpdate?: MessageUpdate
  /** Milliseconds since 1970. */
  readonly timestamp: number
  /** The id of the event that it was made of, or of the stored event before it. */
  readonly eventId: string
}

interface Seen {
  state: RunState
  /** The model call that writes, with what came of it. */
  request: string | undefined
  readonly written: { text: string; reasoning: string }
}

/** The state of the run after a stored event, by the type of the event. */
const stateAfter: Readonly<Partial<Record<RawEvent['type'], RunState>>> = {
  'run.started': 'ProcessingUserMessage',
  'model.blanked': 'GeneratingResponse',
  'tool.started': 'ExecutingTools',
  'turn.retried': 'TransientFailure',
  'run.completed': 'Idle',
  'worker.cancelled': 'Idle',
  'worker.failed': 'Failed',
}

const callStatus = {
  'tool.started': 'started',
  'tool.succeeded': 'succeeded',
  'tool.failed': 'failed',
  'tool.unknown': 'unknown',
} as const

export class ContextUpdates {
  readonly #seen = new Map<string, Seen>()

  of(event: RawEvent): ContextUpdate[] {
    const seen = this.#worker(event.workerId)
    const messages = messagesOf(event, seen)
    const next = stateIn(event) ?? seen.state
    const { state: before } = seen
    seen.state = next
    const head = { contextId: event.workerId, currentState: next, timestamp: event.at, eventId: event.id }
    const updates: ContextUpdate[] = messages.map((messageUpdate) => ({ ...head, messageUpdate }))
    if (next === before) return updates
    const [first = head, ...others] = updates
    return [{ ...first, previousState: before }, ...others]
  }

  #worker(id: string): Seen {
    let seen = this.#seen.get(id)
    if (seen === undefined) {
      seen = { state: 'Idle', request: undefined, written: { text: '', reasoning: '' } }
      this.#seen.set(id, seen)
    }
    return seen
  }
}

/** Undefined for an event that leaves the state as it is. */
function stateIn({ type, details }: RawEvent): RunState | undefined {
  if (type === 'worker.stateChanged')
    return runStates.includes(details.run as RunState) ? (details.run as RunState) : undefined
  if (type === 'model.replied') return Number(details.calls) > 0 ? 'ExecutingTools' : undefined
  if (type === 'ask.opened') return details.sort === 'approval' ? 'AwaitingToolApproval' : undefined
  return stateAfter[type]
}

function messagesOf(event: RawEvent, seen: Seen): MessageUpdate[] {
  const { type, details } = event
  switch (type) {
    case 'session.created':
      return details.rests === true ? [] : [{ type: 'created', role: 'user' }]
    case 'message.accepted':
      return details.kind === 'input' ? [{ type: 'created', role: 'user' }] : []
    case 'text.delta':
    case 'reasoning.delta':
      return delta(type === 'text.delta' ? 'text' : 'reasoning', String(details.request), String(details.text), seen)
    case 'model.replied':
      seen.request = undefined
      return [{ type: 'completed', iteration: Number(details.iteration), toolCalls: Number(details.calls) }]
    case 'tool.started':
    case 'tool.succeeded':
    case 'tool.failed':
    case 'tool.unknown':
      return [{ type: 'statusChanged', id: String(details.toolCallId), status: callStatus[type] }]
    case 'ask.opened':
      return details.sort === 'approval' ? [{ type: 'statusChanged', id: String(details.id), status: 'pending' }] : []
    case 'ask.answered': {
      const { decision, id } = details
      if (decision !== 'approve' && decision !== 'deny') return []
      return [{ type: 'statusChanged', id: String(id), status: decision === 'approve' ? 'approved' : 'denied' }]
    }
    default:
      return []
  }
}

function delta(part: 'text' | 'reasoning', request: string, text: string, seen: Seen): MessageUpdate[] {
  const isNew = seen.request !== request
  if (isNew) {
    seen.request = request
    seen.written.text = ''
    seen.written.reasoning = ''
  }
  seen.written[part] += text
  const piece: MessageUpdate = {
    type: 'contentDelta',
    messageId: request,
    part,
    delta: text,
    accumulated: seen.written[part],
  }
  return isNew ? [{ type: 'created', role: 'assistant', messageId: request }, piece] : [piece]
}
