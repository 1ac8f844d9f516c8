/** Somebody who follows the stored events of a session, stops now and then, and goes on behind the last event. */
import assert from 'node:assert/strict'
import type { Session } from '../../../../src/client/session/session.ts'
import type { Random } from '../fault-settings.ts'

export class Follower {
  readonly session: Session
  readonly #random: Random
  readonly #seen: string[] = []
  readonly #over = new AbortController()
  readonly #ended: Promise<void>

  constructor(session: Session, random: Random) {
    this.session = session
    this.#random = random
    this.#ended = this.#follow()
    this.#ended.catch(() => {})
  }

  async #follow(): Promise<void> {
    while (!this.#over.signal.aborted) {
      let isCut = false
      for await (const { id } of this.#events({ signal: this.#over.signal })) {
        this.#seen.push(id)
        isCut = this.#random() < 0.05
        if (isCut) break
      }
      if (!isCut) return
    }
  }

  #events(more: { readonly signal?: AbortSignal; readonly follow?: false }, seen = this.#seen) {
    return this.session.events({ after: seen.at(-1) ?? '0-0', transient: false, ...more })
  }

  /** A read ends with the session. Its detached workers go on, and it may be retried: their events stand behind. */
  async #readOn(seen: string[]): Promise<void> {
    for (let before = -1; seen.length > before; ) {
      before = seen.length
      for await (const { id } of this.#events({ follow: false }, seen)) seen.push(id)
    }
  }

  /** Throws unless each stored event has come once, in order. */
  async judge(): Promise<void> {
    const all: string[] = []
    await this.#readOn(all)
    this.#over.abort()
    await this.#ended
    // What is still on its way, and what came after the session had ended.
    await this.#readOn(this.#seen)
    const wrong = all.findIndex((id, index) => id !== this.#seen[index])
    const what = `of session ${this.session.id}: event ${wrong} of ${all.length} is ${this.#seen[wrong]} in place of ${all[wrong]}`
    assert.equal(wrong, -1, what)
    const more = this.#seen.slice(all.length)
    assert.deepEqual(more, [], `more events of session ${this.session.id} came than there are, behind ${all.at(-1)}`)
  }
}
