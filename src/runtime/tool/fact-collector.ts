/**
 * Duty: collect the facts that one tool call sets.
 * FACTS-1 A fact that cannot be recorded fails the call, even if the tool catches the error, because other tools would rely on a fact
 *         that does not exist.
 * FACTS-2 A fact is plain JSON that shares nothing with the tool's own objects.
 */

import { InputError, LimitError, type RuntimeError } from '../../core/errors.ts'
import type { Json } from '../../core/history/chat/chat-message.ts'
import { isDeeperThan, toJson } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import { brief } from './messages.ts'
import { wellFormedJson } from './plain-json.ts'

export type Facts = Readonly<Record<string, Json>>

export class FactCollector {
  readonly #tool: string
  readonly #facts = new Map<string, { readonly value: Json; readonly bytes: number }>()
  #error: RuntimeError | null = null

  constructor(tool: string) {
    this.#tool = tool
  }

  /** The error of the first fact that was refused. */
  get error(): RuntimeError | null {
    return this.#error
  }

  get facts(): Facts {
    return Object.fromEntries([...this.#facts].map(([name, { value }]) => [name, value]))
  }

  set(name: string, value: unknown): void {
    try {
      this.#facts.set(name, this.#checked(name, value))
    } catch (thrown) {
      this.#error ??= thrown as RuntimeError
      throw thrown
    }
  }

  #checked(name: unknown, value: unknown): { value: Json; bytes: number } {
    const isName = typeof name === 'string' && name !== '' && name !== '__proto__'
    if (!isName || Buffer.byteLength(name) > policy.nameBytesMax) {
      throw new InputError(
        `tool "${this.#tool}": ${brief(JSON.stringify(name) ?? typeof name)} is not a valid name of a fact: use a text of 1 to ${policy.nameBytesMax} bytes.`,
      )
    }
    const what = `fact "${name}" of tool "${this.#tool}"`
    const text = wellFormedJson(toJson(value, what))
    const plain = JSON.parse(text) as Json
    if (isDeeperThan(plain, policy.jsonDepthMax)) {
      throw new InputError(`${what} is nested deeper than ${policy.jsonDepthMax} levels: record a flatter value.`)
    }
    const bytes = Buffer.byteLength(text)
    let total = bytes
    for (const [other, fact] of this.#facts) if (other !== name) total += fact.bytes
    if (total > policy.factsBytesMax) {
      throw new LimitError(
        'message_too_big',
        `the facts of tool "${this.#tool}" would have ${total} bytes together with "${name}"; the limit is ${policy.factsBytesMax}. Store large data elsewhere and record a reference.`,
      )
    }
    return { value: plain, bytes }
  }
}
