/**
 * Duty: collect what a converter reads, as messages. It gives ids to calls that have none, and finds the call of a result that names none.
 * SAID-1 A result without an id answers the first open call of the newest reply that has its name, else the first open one.
 */
import { isObject } from '../../core/check/is-object.ts'
import type {
  AssistantBlock,
  ChatMessage,
  FinishReason,
  Json,
  ProviderOptions,
  ToolCallBlock,
  ToolOutput,
  ToolStatus,
  Usage,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { parseArguments } from './arguments.ts'
import type { Foreign } from './foreign.ts'

/** The time and the id of a message, if the format has them. */
export interface Head {
  readonly at?: number | undefined
  readonly id?: string | undefined
}

export interface Reply extends Head {
  readonly model?: string | undefined
  readonly finishReason?: FinishReason | undefined
  readonly usage?: Usage | undefined
}

/** How a result names its call. */
export interface Answers {
  readonly id?: string | undefined
  readonly name?: string | undefined
}

export const unknownModel = 'unknown/unknown'
const noUsage: Usage = { inputTokens: 0, outputTokens: 0 }

export class Said {
  readonly messages: ChatMessage[] = []
  readonly warnings: string[] = []
  /** The id that the other program gave the conversation. */
  id: string | undefined
  title: string | undefined
  /** The id of the wanted conversation, if a source holds several. */
  readonly wanted: string | undefined
  /** Calls of the newest reply that have no result yet. */
  #open: ToolCallBlock[] = []
  readonly #names = new Map<string, string>()
  #made = 0

  constructor(wanted?: string) {
    this.wanted = wanted
  }

  warn(what: string): void {
    this.warnings.push(what)
  }

  /** Says that something was left out. `where`: the place of what was left out. */
  leaveOut({ path }: Foreign, what: string): void {
    this.warnings.push(`${path} was left out: ${what}.`)
  }

  system(text: string, head: Head = {}): void {
    this.messages.push({ type: 'system', ...headOf(head), text })
  }

  user(content: readonly UserBlock[], { name, ...head }: Head & { readonly name?: string | undefined } = {}): void {
    this.messages.push({ type: 'user', ...headOf(head), ...(name !== undefined && { name }), content })
  }

  assistant(content: readonly AssistantBlock[], reply: Reply = {}): void {
    const { model = unknownModel, finishReason, usage = noUsage, ...head } = reply
    this.#open = content.filter((block) => block.type === 'tool-call')
    for (const { toolCallId, toolName } of this.#open) this.#names.set(toolCallId, toolName)
    this.messages.push({
      type: 'assistant',
      ...headOf(head),
      model,
      content,
      finishReason: finishReason ?? (this.#open.length > 0 ? 'tool-calls' : 'stop'),
      usage,
    })
  }

  error(message: string, head: Head = {}): void {
    this.messages.push({ type: 'error', ...headOf(head), message })
  }

  summary(text: string, messagesCompacted: number, head: Head = {}): void {
    this.messages.push({ type: 'summary', ...headOf(head), text, messagesCompacted })
  }

  result(answers: Answers, status: ToolStatus, output: ToolOutput, head: Head = {}): void {
    const call = this.#callOf(answers)
    if (call) this.#open = this.#open.filter((one) => one !== call)
    const toolCallId = call?.toolCallId ?? answers.id ?? ''
    const toolName = this.#names.get(toolCallId) ?? answers.name ?? ''
    this.messages.push({ type: 'toolResult', ...headOf(head), toolCallId, toolName, status, output })
  }

  /** True if the newest reply with this call, or any other before it, is known. */
  hasCall(id: string): boolean {
    return this.#names.has(id)
  }

  /** Arguments are text that should be JSON, or a value. */
  call(id: string | undefined, toolName: string, args: string | { readonly value: Json }): ToolCallBlock {
    const toolCallId = id === undefined || id === '' ? this.#newId() : id
    const parsed = typeof args === 'string' ? parseArguments(args) : { input: args.value }
    return { type: 'tool-call', toolCallId, toolName, ...parsed }
  }

  #newId(): string {
    let id: string
    do id = `call-${++this.#made}`
    while (this.#names.has(id))
    return id
  }

  #callOf({ id, name }: Answers): ToolCallBlock | undefined {
    if (id !== undefined && id !== '') return this.#open.find(({ toolCallId }) => toolCallId === id)
    return this.#open.find(({ toolName }) => toolName === name) ?? this.#open[0]
  }
}

function headOf({ id = '', at = 0 }: Head): { readonly id: string; readonly at: number } {
  return { id, at }
}

/** What a word of another program stands for; undefined for a word that is not known. */
export function meaningOf<Meaning>(words: Readonly<Record<string, Meaning>>, word: unknown): Meaning | undefined {
  return typeof word === 'string' && Object.hasOwn(words, word) ? words[word] : undefined
}

/** A text block; none for no text. */
export function textBlocks(text: string | undefined): { readonly type: 'text'; readonly text: string }[] {
  return text === undefined || text === '' ? [] : [{ type: 'text', text }]
}

export function textOutput(value: string): ToolOutput {
  return { type: 'text', value }
}

export function errorOutput(value: string): ToolOutput {
  return { type: 'error-text', value }
}

/** A text stays a text; any other value becomes JSON. */
export function outputOf(value: Json): ToolOutput {
  return typeof value === 'string' ? textOutput(value) : { type: 'json', value }
}

/** `provider/model`, as far as it is known. */
export function modelOf(provider: string, model: string | undefined): string | undefined {
  if (model === undefined || model === '') return undefined
  return model.includes('/') ? model : `${provider}/${model}`
}

/** Options of a provider, without those that are not there. */
export function optionsOf(
  provider: string,
  options: Readonly<Record<string, Json | undefined>>,
): { readonly providerOptions?: ProviderOptions } {
  const there = Object.entries(options).filter(([, value]) => value !== undefined && value !== null && value !== '')
  if (there.length === 0) return {}
  return { providerOptions: { [provider]: Object.fromEntries(there) as Record<string, Json> } }
}

/** An option of a provider, if it is a text. */
export function optionOf(options: unknown, provider: string, name: string): string | undefined {
  const of = isObject(options) ? options[provider] : undefined
  const value = isObject(of) ? of[name] : undefined
  return typeof value === 'string' ? value : undefined
}
