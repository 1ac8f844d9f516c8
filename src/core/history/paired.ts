/**
 * Duty: put a conversation in order that began elsewhere: each call has one result, and ids are unique.
 * PAIRED-1 Each call has exactly one result. It stands behind its reply, in the order of the calls. A call that nobody answered gets a result
 *          with the status `cancelled`.
 * PAIRED-2 Nothing that was said is lost. A result that belongs to no call becomes the text of a user.
 * PAIRED-3 Ids of messages and ids of calls are unique. An id that comes again is replaced, and a message without an id gets its position.
 * PAIRED-4 A conversation that is in order stays as it is.
 */
import {
  type AssistantMessage,
  type ChatMessage,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
  type UserMessage,
} from './chat/chat-message.ts'
import { outputTextOf } from './chat/media.ts'
import { cancelledText } from './run/open-calls.ts'

/** What was changed, each with its number. */
export interface Repairs {
  /** How many calls nobody had answered. */
  readonly unanswered: number
  /** Results that belong to no call, or to a call that has a result. */
  readonly orphans: number
  /** Ids of calls that came again. */
  readonly renamedCalls: number
}

export interface Paired {
  readonly messages: readonly ChatMessage[]
  readonly repairs: Repairs
}

/** A call of a reply, and the result that answers it. */
interface Slot {
  readonly call: ToolCallBlock
  result: ToolResultMessage | null
}

interface Matched {
  readonly slots: ReadonlyMap<AssistantMessage, readonly Slot[]>
  readonly answers: ReadonlySet<ToolResultMessage>
}

export function pairedMessages(messages: readonly ChatMessage[]): Paired {
  const { slots, answers } = matched(messages)
  const calls = new UniqueIds()
  const paired: ChatMessage[] = []
  let [unanswered, orphans, renamedCalls] = [0, 0, 0]
  for (const message of messages) {
    if (message.type === 'toolResult') {
      if (answers.has(message)) continue
      orphans++
      paired.push(userMessageOf(message))
    } else if (message.type === 'assistant') {
      const own = slots.get(message) ?? []
      const ids = own.map(({ call }) => calls.unique(call.toolCallId))
      const renamed = own.filter(({ call }, index) => call.toolCallId !== ids[index]).length
      renamedCalls += renamed
      paired.push(renamed === 0 ? message : withCallIds(message, ids))
      for (const [index, { call, result }] of own.entries()) {
        if (result === null) unanswered++
        paired.push(resultFor({ ...call, toolCallId: ids[index] as string }, result ?? cancelled(message)))
      }
    } else paired.push(message)
  }
  return { messages: withIds(paired), repairs: { unanswered, orphans, renamedCalls } }
}

/** A result answers the newest call of its id that came before it and has no result. */
function matched(messages: readonly ChatMessage[]): Matched {
  const slots = new Map<AssistantMessage, readonly Slot[]>()
  const answers = new Set<ToolResultMessage>()
  const open = new Map<string, Slot[]>()
  for (const message of messages) {
    if (message.type === 'assistant') {
      const own = toolCallsOf(message).map((call): Slot => ({ call, result: null }))
      slots.set(message, own)
      // If calls in one reply have the same id, the first one is answered first.
      for (const slot of own.toReversed()) {
        const waiting = open.get(slot.call.toolCallId)
        if (waiting === undefined) open.set(slot.call.toolCallId, [slot])
        else waiting.push(slot)
      }
    } else if (message.type === 'toolResult') {
      const slot = open.get(message.toolCallId)?.pop()
      if (slot === undefined) continue
      slot.result = message
      answers.add(message)
    }
  }
  return { slots, answers }
}

function cancelled({ at }: AssistantMessage): Omit<ToolResultMessage, 'toolCallId' | 'toolName'> {
  return { type: 'toolResult', id: '', at, status: 'cancelled', output: { type: 'error-text', value: cancelledText } }
}

function resultFor(
  { toolCallId, toolName }: ToolCallBlock,
  result: ToolResultMessage | Omit<ToolResultMessage, 'toolCallId' | 'toolName'>,
): ToolResultMessage {
  if ('toolCallId' in result && result.toolCallId === toolCallId && result.toolName === toolName) return result
  return { ...result, toolCallId, toolName }
}

function withCallIds(message: AssistantMessage, ids: readonly string[]): AssistantMessage {
  let next = 0
  const content = message.content.map((block) =>
    block.type === 'tool-call' ? { ...block, toolCallId: ids[next++] as string } : block,
  )
  return { ...message, content }
}

function userMessageOf({ id, at, toolName, output }: ToolResultMessage): UserMessage {
  const text = `[result of ${toolName === '' ? 'a tool' : toolName}, without its call] ${outputTextOf(output) || '(empty)'}`
  return { type: 'user', id, at, content: [{ type: 'text', text }] }
}

/** Ids of the form `m<number>` are positions: those of the runtime are, too. */
const positionForm = /^(m\d+)?$/

function withIds(messages: readonly ChatMessage[]): ChatMessage[] {
  const ids = new UniqueIds()
  return messages.map((message, position) => {
    const id = positionForm.test(message.id) ? `m${position}` : ids.unique(message.id)
    return id === message.id ? message : { ...message, id }
  })
}

class UniqueIds {
  readonly #used = new Set<string>()
  /** The number of the last copy, by an id that came again. */
  readonly #copies = new Map<string, number>()

  unique(wanted: string): string {
    const id = wanted === '' ? 'call' : wanted
    let unique = id
    for (let copy = (this.#copies.get(id) ?? 1) + 1; this.#used.has(unique); copy++) {
      unique = `${id}-${copy}`
      this.#copies.set(id, copy)
    }
    this.#used.add(unique)
    return unique
  }
}
