/**
 * Duty: hold what the writers of formats for models have in common: a conversation as turns that providers accept.
 * TURNS-1 No turn is empty, and no text is blank. Errors are left out; a summary is the text of a user.
 * TURNS-2 Turns of the same side are merged where a format wants them to alternate.
 */
import type {
  AssistantBlock,
  AssistantMessage,
  ChatMessage,
  FileBlock,
  Json,
  MediaBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultMessage,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { outputTextOf } from '../../core/history/chat/media.ts'
import { beginningText, handoffMark } from '../../core/history/prompt/prompt-fold.ts'

export interface UserTurn {
  readonly side: 'user'
  readonly blocks: readonly UserBlock[]
  readonly at: number
  readonly id: string
  readonly name?: string | undefined
}
export interface ReplyTurn {
  readonly side: 'assistant'
  readonly blocks: readonly AssistantBlock[]
  readonly message: AssistantMessage
}
export interface ResultsTurn {
  readonly side: 'results'
  readonly results: readonly ToolResultMessage[]
}
export interface SystemTurn {
  readonly side: 'system'
  readonly text: string
  readonly at: number
}
export type Turn = UserTurn | ReplyTurn | ResultsTurn | SystemTurn

export function turnsOf(messages: readonly ChatMessage[]): Turn[] {
  const turns = messages.map(turnOf).filter((turn) => turn !== null)
  return neighbours(turns).flatMap((some): Turn[] => {
    const [first] = some
    return first.side === 'results' ? [{ side: 'results', results: some.flatMap(resultsIn) }] : some
  })
}

/** Turns of the same side that follow each other. One list is built for each: a list anew for each turn took 8 s for 40 000. */
function neighbours<Some extends Turn>(turns: readonly Some[]): [Some, ...Some[]][] {
  const groups: [Some, ...Some[]][] = []
  for (const turn of turns) {
    const last = groups.at(-1)
    if (last?.[0].side === turn.side) last.push(turn)
    else groups.push([turn])
  }
  return groups
}

function resultsIn(turn: Turn): readonly ToolResultMessage[] {
  return turn.side === 'results' ? turn.results : []
}

function turnOf(message: ChatMessage): Turn | null {
  switch (message.type) {
    case 'system':
      return message.text.trim() === '' ? null : { side: 'system', text: message.text, at: message.at }
    case 'user': {
      const blocks = message.content.filter((block) => !isBlank(block))
      const { at, id, name } = message
      return blocks.length === 0 ? null : { side: 'user', blocks, at, id, name }
    }
    case 'summary':
      return { side: 'user', blocks: [summaryText(message.text)], at: message.at, id: message.id }
    case 'assistant': {
      const blocks = message.content.filter((block) => !isBlank(block))
      // Providers refuse a reply that holds only reasoning.
      return blocks.every(({ type }) => type === 'reasoning') ? null : { side: 'assistant', blocks, message }
    }
    case 'toolResult':
      return { side: 'results', results: [message] }
    case 'error':
      return null
  }
}

/** Summaries as what a user says, for formats that have none. */
export function summaryTurn(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message) =>
    message.type === 'summary'
      ? { type: 'user', id: message.id, at: message.at, content: [summaryText(message.text)] }
      : message,
  )
}

function summaryText(text: string): TextBlock {
  return { type: 'text', text: `${handoffMark}\n${text}` }
}

/** The texts of the system messages, and apart from them the other turns, of which neighbours are merged. The first turn is a user's. */
export function alternating(turns: readonly Turn[]): {
  readonly system: readonly string[]
  readonly turns: Exclude<Turn, SystemTurn>[]
} {
  const said = turns.filter((turn) => turn.side !== 'system')
  const merged = neighbours(said).flatMap(mergedOf)
  const [first] = said
  if (first?.side === 'assistant')
    merged.unshift({ side: 'user', blocks: [{ type: 'text', text: beginningText }], at: first.message.at, id: '' })
  const system = turns.flatMap((turn) => (turn.side === 'system' ? [turn.text] : []))
  return { system, turns: merged }
}

type SaidTurn = Exclude<Turn, SystemTurn>

/** One turn for neighbours of one side: a user's is named by the first of them, a reply by the last. Results stay as they are. */
function mergedOf(some: readonly [SaidTurn, ...SaidTurn[]]): readonly SaidTurn[] {
  const [first] = some
  const last = some.at(-1)
  if (first.side === 'user')
    return [{ ...first, blocks: some.flatMap((turn) => (turn.side === 'user' ? turn.blocks : [])) }]
  if (last?.side === 'assistant')
    return [{ ...last, blocks: some.flatMap((turn) => (turn.side === 'assistant' ? turn.blocks : [])) }]
  return some
}

function isBlank(block: UserBlock | AssistantBlock): boolean {
  return block.type === 'text' && block.text.trim() === ''
}

export function callsIn(blocks: readonly AssistantBlock[]): ToolCallBlock[] {
  return blocks.filter((block) => block.type === 'tool-call')
}

/** All texts of a message as one. Media and files become notes in it. */
export function joined(blocks: readonly (UserBlock | AssistantBlock)[]): string {
  return blocks
    .flatMap((block) => {
      if (block.type === 'text') return [block.text]
      return block.type === 'reasoning' || block.type === 'tool-call' ? [] : [noteOf(block)]
    })
    .join('\n')
}

/** Stands in a text for a medium or a file that the format cannot hold. */
export function noteOf(block: MediaBlock | FileBlock): string {
  if (block.type === 'file')
    return `[file: ${block.filename ?? (block.url.startsWith('data:') ? block.mediaType : block.url)}]`
  return `[${block.type}: ${block.url ?? block.mediaType}]`
}

/** The text of a result as a model reads it. */
export function outputText({ output }: ToolResultMessage): string {
  return outputTextOf(output)
}

/** The model of the newest reply, without its provider, if it is one of these providers. */
export function lastModel(
  messages: readonly ChatMessage[],
  ...providers: readonly string[]
): { readonly model?: string } {
  const reply = messages.findLast((message) => message.type === 'assistant')
  const [provider = '', ...model] = reply?.model.split('/') ?? []
  return providers.includes(provider) && model.length > 0 ? { model: model.join('/') } : {}
}

/** An object without the fields that have no value. */
export function withoutNone(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** How one format writes the parts of a turn. */
interface PartWriters {
  readonly result: (result: ResultsTurn['results'][number]) => Json
  readonly user: (block: UserTurn['blocks'][number]) => Json
  readonly reply: (block: ReplyTurn['blocks'][number]) => readonly Json[]
}

/** Two sides that alternate. Results, and what the user says next, are one message of the user's side. */
export function twoSided(
  turns: readonly Exclude<Turn, SystemTurn>[],
  write: PartWriters,
): { isReply: boolean; parts: Json[] }[] {
  const written: { isReply: boolean; parts: Json[] }[] = []
  for (const turn of turns) {
    const isReply = turn.side === 'assistant'
    const parts =
      turn.side === 'results'
        ? turn.results.map(write.result)
        : turn.side === 'user'
          ? turn.blocks.map(write.user)
          : turn.blocks.flatMap(write.reply)
    const last = written.at(-1)
    if (last?.isReply === isReply) last.parts.push(...parts)
    else written.push({ isReply, parts })
  }
  return written
}
