/**
 * Duty: bring runs to their gates, where these are in another partition: the first one has the gates of all (lua/shared/turn/gates.lua).
 * GUEST-1 A run is in progress by its record only while the first partition counts it. So a guest is counted there first, and removed there after
 *    its record says that it is over, or cannot begin any more.
 * GUEST-2 Words between the partitions may be lost, come twice or late. The other partition answers by its own state; a word without an answer is
 *    sent again.
 */
import { partitionOf } from '../../core/ids.ts'
import type { Policy } from '../../core/policy.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import type { GuestsAnswered } from '../../core/ports/wake.ts'
import { type GateOrder, guestIn, guestName } from '../../core/worker/gates.ts'
import { gatesKey, workerKeys } from '../keys.ts'
import type { OpenPlace } from '../places.ts'
import { guarded } from '../redis/guarded.ts'
import type { HeaderValue } from '../script/script.ts'
import { guestScript, hostScript } from '../script/scripts.ts'
import { newSeed, parseWakeups } from '../wakeups.ts'

/** What the script `fire` reports of a run. begins: the first partition lets it begin. Any other word: its state in its own partition. */
export interface GuestNews {
  readonly standing: 'begins' | Standing
  readonly guest: string
  /** Of a run that waits: what its gates allow (the field `gateNumbers` of its record), in case the first partition has lost it. */
  readonly numbers?: readonly string[]
}

type Standing = 'in' | 'waits' | 'out' | 'later'

export class GuestStore {
  readonly #places: readonly OpenPlace[]
  readonly #policy: Policy

  constructor(places: readonly OpenPlace[], policy: Policy) {
    this.#places = places
    this.#policy = policy
  }

  /** Asks for the gates of a run that a turn wants to begin. Returns the word for the script `enter`; or "never". */
  async ask(
    { workerId, kind, version, depth }: Pick<Assignment, 'workerId' | 'kind' | 'version' | 'depth'>,
    at: readonly (Omit<GateOrder, 'key'> & { readonly key: string | undefined })[],
  ): Promise<string> {
    const idOf = (sort: GateOrder['sort']) => at.find((one) => one.sort === sort)?.id
    const guest = guestName({ workerId, kind, version }, { runs: idOf('runs'), rate: idOf('rate') })
    const ancestors = depth === 0 ? [] : await this.#waitingAncestors(workerId, depth)
    const [answer, sort, opensIn] = await this.#host(guest, 'asks', { at, ancestors: ancestors.map((id) => ({ id })) })
    return answer === 'waits' ? `${sort} ${opensIn}` : String(answer)
  }

  /** Never rejects: a word that cannot be sent now is sent again. */
  async tell(news: readonly GuestNews[]): Promise<GuestsAnswered> {
    const answers = await Promise.allSettled(news.map((one) => this.#tellOf(one)))
    const done = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    return { woken: done.flatMap(({ woken }) => woken), opensGate: done.some(({ opensGate }) => opensGate) }
  }

  async #tellOf({ standing, guest, numbers = [] }: GuestNews): Promise<GuestsAnswered> {
    if (standing === 'begins') return this.#begin(guest)
    if (standing === 'later') return nothing
    const [answer, freed] = await this.#host(guest, standing, { at: gatesWith(guest, numbers) })
    if (answer === 'out') await this.#guest(guest, 'out')
    if (answer === 'in' && standing === 'waits') return this.#begin(guest)
    return { woken: [], opensGate: answer === 'out' && freed === '1' }
  }

  async #begin(guest: string): Promise<GuestsAnswered> {
    const { standing, ...woken } = await this.#guest(guest, 'in')
    const [, freed] = standing === 'later' ? [] : await this.#host(guest, standing)
    return { woken: [woken], opensGate: standing === 'out' && freed === '1' }
  }

  async #host(
    guest: string,
    standing: 'asks' | Standing,
    { at, ancestors }: { readonly at?: HeaderValue; readonly ancestors?: HeaderValue } = {},
  ): Promise<readonly string[]> {
    const { caller, keys } = this.#places[0] as OpenPlace
    const answer = await caller.call(
      hostScript,
      { gates: gatesKey(keys.tag) },
      { guest, standing, ancestors, at },
      { deadlineMs: this.#policy.leaseMs / 3 },
    )
    return answer as string[]
  }

  async #guest(guest: string, says: 'in' | 'out') {
    const worker = guestIn(guest)?.workerId ?? ''
    const partition = partitionOf(worker)
    const place = this.#places[partition]
    // This node does not know that partition yet. A node that knows it will bring the message there.
    if (place === undefined) return { standing: 'later', partition, wakeups: parseWakeups('') } as const
    const [standing, wakeups] = await place.caller.call(
      guestScript,
      { record: workerKeys(place.keys.tag, worker).record, gates: gatesKey(place.keys.tag) },
      { guest, says, seed: newSeed(), wakeupMs: this.#policy.wakeupMs },
      { deadlineMs: this.#policy.leaseMs / 3 },
    )
    return { standing: standing as Standing, partition, wakeups: parseWakeups(wakeups) }
  }

  /** The ancestors that wait for its run, up to the first that does not: a parent waits for the first run of a child alone. */
  async #waitingAncestors(worker: string, depth: number): Promise<string[]> {
    const { redis, keys } = this.#places[partitionOf(worker)] as OpenPlace
    const fields = Array.from({ length: depth }, (_, level) => `path${depth - level}`)
    const read = () => redis.hmget(workerKeys(keys.tag, worker).record, 'run', ...fields)
    const [run, ...path] = await guarded('reading the ancestors of a worker', read, this.#policy.leaseMs / 3)
    if ((run ?? '1') !== '1') return []
    const above: string[] = []
    for (const element of path) {
      if (element === null || element.endsWith(':-')) break
      above.push(element.slice(0, 36))
      if (!element.endsWith(':1')) break
    }
    return above
  }
}

const nothing: GuestsAnswered = { woken: [], opensGate: false }

export function newsOf(flat: unknown): readonly GuestNews[] {
  if (!Array.isArray(flat)) return []
  const news: GuestNews[] = []
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const [standing, ...numbers] = String(flat[index]).split(' ')
    news.push({ standing: standing as GuestNews['standing'], guest: String(flat[index + 1]), numbers })
  }
  return news
}

/** The gates of a guest of which both the id and the number are known. */
function gatesWith(guest: string, [runsMost, rateMost, perMs]: readonly string[]): Omit<GateOrder, 'key'>[] {
  const [, , runs = '-', rate = '-'] = guest.split(' ')
  return [
    { sort: 'runs' as const, id: runs, most: Number(runsMost) },
    { sort: 'rate' as const, id: rate, most: Number(rateMost), perMs: Number(perMs) },
  ].filter(({ id, most }) => id !== '-' && most > 0)
}
