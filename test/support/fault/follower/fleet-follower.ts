/** Somebody who follows the stored events of all sessions from the first one on, stops now and then, and goes on from the last position. */
import assert from 'node:assert/strict'
import type { Troupe } from '../../../../src/client/client.ts'
import { partitionOf } from '../../../../src/core/ids.ts'
import { readEvents } from '../../../../src/store/event/event-pages.ts'
import { partitionKeys, tagOf } from '../../../../src/store/keys.ts'
import { waitUntil } from '../../time/wait-until.ts'
import type { Random } from '../fault-settings.ts'
import type { Harness } from '../harness.ts'

/** What is on its way when all rests has come by then. */
const comesMsMax = 30_000
const readMsMax = 30_000

export class FleetFollower {
  readonly #client: Troupe
  readonly #random: Random
  /** By partition, the ids of the events that came. */
  readonly #seen = new Map<number, string[]>()
  readonly #over = new AbortController()
  readonly #ended: Promise<void>
  #position = '0-0'
  #trimmed = 0

  constructor(client: Troupe, random: Random) {
    this.#client = client
    this.#random = random
    this.#ended = this.#follow()
    this.#ended.catch(() => {})
  }

  async #follow(): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      for await (const { event, position } of this.#client.events({ after: this.#position, signal })) {
        this.#position = position
        if (event.type === 'events.trimmed') this.#trimmed++
        else this.#seenIn(partitionOf(event.sessionId)).push(event.id)
        if (this.#random() < 0.002) break
      }
    }
  }

  #seenIn(partition: number): string[] {
    const seen = this.#seen.get(partition) ?? []
    this.#seen.set(partition, seen)
    return seen
  }

  /** Throws unless each stored event of these partitions has come once, in order. */
  async judge(harness: Harness, partitions: number): Promise<void> {
    const all = await Promise.all(Array.from({ length: partitions }, (_, partition) => storedIn(harness, partition)))
    const hasCome = () => all.every((ids, partition) => this.#seenIn(partition).length >= ids.length)
    const come = waitUntil('a follower of all sessions has as many events as there are', hasCome, comesMsMax)
    // It is judged by what it has. If it has ended, it says why.
    await Promise.race([come.catch(() => {}), this.#ended])
    this.#over.abort()
    await this.#ended
    assert.equal(this.#trimmed, 0, 'a follower of all sessions was told of trimmed events')
    for (const [partition, ids] of all.entries()) judgeOrder(partition, ids, this.#seenIn(partition))
  }
}

/** What was trimmed by now stands before `all`, and what happened since the stream was read behind it. */
export function judgeOrder(partition: number, all: readonly string[], came: readonly string[]): void {
  const seen = came.slice(Math.max(0, came.indexOf(all[0] ?? '')))
  const wrong = all.findIndex((id, index) => id !== seen[index])
  const place = `event ${wrong} of ${all.length} in partition ${partition}`
  assert.equal(wrong, -1, `a follower of all sessions has ${seen[wrong]} in place of ${all[wrong]}, ${place}`)
  assert.equal(new Set(came).size, came.length, `a follower of all sessions has events of partition ${partition} twice`)
}

async function storedIn({ redis, namespace }: Harness, partition: number): Promise<string[]> {
  const keys = partitionKeys(tagOf(namespace, partition))
  const ids: string[] = []
  for (let after = '0-0', more = true; more; ) {
    const page = await readEvents(redis, keys, after, readMsMax)
    for (const { id } of page.events) ids.push(id)
    after = page.last
    more = page.more
  }
  return ids
}
