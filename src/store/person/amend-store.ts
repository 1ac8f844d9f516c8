/** Duty: add an entry to the history of a worker that rests, for somebody outside. */
import type { Policy } from '../../core/policy.ts'
import { type PartitionKeys, workerKeys } from '../keys.ts'
import { guarded } from '../redis/guarded.ts'
import type { Redis } from '../redis/redis.ts'
import type { ScriptCaller } from '../script/script.ts'
import { amendScript } from '../script/scripts.ts'

/** What somebody outside adds to a history, and what they had read: the version of the record, and how long the history was. */
export interface Amendment {
  readonly version: number
  readonly position: number
  readonly entry: string
  readonly event: string
  /** Digest of an idempotency key of the caller. */
  readonly key?: string | undefined
}

export type AmendAnswer =
  | { readonly kind: 'ok' | 'not_found' | 'terminal' | 'busy' | 'moved' }
  /** Its key is known, and this is the position of the entry that was added under it. */
  | { readonly kind: 'again'; readonly position: number }
  | { readonly kind: 'session_finished'; readonly state: string }

export class AmendStore {
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #redis: Redis
  readonly #policy: Policy
  readonly #deadlineMs: number

  constructor(redis: Redis, caller: ScriptCaller, keys: PartitionKeys, policy: Policy, deadlineMs: number) {
    this.#redis = redis
    this.#caller = caller
    this.#keys = keys
    this.#policy = policy
    this.#deadlineMs = deadlineMs
  }

  /** The position of the entry that was added under a key of this digest; null: none was. */
  async known(key: string): Promise<number | null> {
    const read = () => this.#redis.get(this.#keys.idem(key))
    const position = await guarded('reading what was done under a key', read, this.#deadlineMs)
    return position === null ? null : Number(position)
  }

  async amend(worker: string, { version, position, entry, event, key }: Amendment): Promise<AmendAnswer> {
    const { record, log } = workerKeys(this.#keys.tag, worker)
    const reply = await this.#caller.call(
      amendScript,
      { record, log, events: this.#keys.events },
      { worker, version: String(version), position, key, keyMs: key && this.#policy.givenKeyMs, event, entry },
      { deadlineMs: this.#deadlineMs },
    )
    if (reply[0] === 'again') return { kind: 'again', position: Number(reply[1]) }
    if (reply[0] === 'session_finished') return { kind: 'session_finished', state: String(reply[1]) }
    return { kind: reply[0] as 'ok' | 'not_found' | 'terminal' | 'busy' | 'moved' }
  }
}
