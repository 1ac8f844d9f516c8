/** What a talker is told, what it says, and what both sides of a test make of a conversation: a text that only all of it gives. */
import { createHash } from 'node:crypto'
import type { PromptMessage } from '../../../src/core/definition/model.ts'
import type { Entry } from '../../../src/core/history/entry.ts'

/** The node whose tools take as long as they are told; on the others they end at once. */
export const slowNode = 'holder'

/** What a run does: so many replies with so many calls each, which take so long, then its last words. */
export interface TalkPlan {
  readonly rounds: number
  readonly calls: number
  readonly ms?: number
  /** Its last words are the sum of the conversation so far. */
  readonly isSum?: boolean
}

/** What was said, in order, and what the calls gave, which may be recorded in any order. */
class Sum {
  readonly #said = createHash('sha256')
  readonly #found: string[] = []
  #count = 0

  say(words: unknown): void {
    this.#said.update(`${JSON.stringify(words)}\n`)
    this.#count++
  }

  find(words: unknown): void {
    this.#found.push(JSON.stringify(words))
  }

  toString(): string {
    for (const words of this.#found.sort()) this.#said.update(`${words}\n`)
    return `${this.#count} said, ${this.#found.length} found: ${this.#said.digest('hex')}`
  }
}

/** By what a model is sent. */
export function sumOfPrompt(messages: readonly PromptMessage[]): string {
  const sum = new Sum()
  for (const message of messages) {
    if (message.role === 'tool') for (const { output } of message.results) sum.find(output.value)
    else for (const block of message.content) sum.say(wordsOf(block))
  }
  return sum.toString()
}

/** By what is recorded. */
export function sumOfHistory(entries: readonly Entry[]): string {
  const sum = new Sum()
  for (const entry of entries) {
    if (entry.type === 'toolResult') sum.find(entry.output.value)
    if (entry.type === 'user' || entry.type === 'assistant') for (const block of entry.content) sum.say(wordsOf(block))
  }
  return sum.toString()
}

function wordsOf(block: object): unknown {
  return 'text' in block ? block.text : 'input' in block ? block.input : null
}
