/** Duty: add an entry to the history of a worker that rests, for somebody outside. */
import { type PartitionKeys, workerKeys } from '../keys.ts'
import type { ScriptCaller } from '../script/script.ts'
import { amendScript } from '../script/scripts.ts'

/** What somebody outside adds, by what they read: the version of the record, and the history up to it. */
export interface Amendment {
  readonly version: number
  readonly position: number
  readonly entry: string
  readonly event: string
}

export type AmendAnswer =
  | { readonly kind: 'ok' | 'not_found' | 'terminal' | 'busy' | 'moved' }
  | { readonly kind: 'session_finished'; readonly state: string }

export class AmendStore {
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #deadlineMs: number

  constructor(caller: ScriptCaller, keys: PartitionKeys, deadlineMs: number) {
    this.#caller = caller
    this.#keys = keys
    this.#deadlineMs = deadlineMs
  }

  async amend(worker: string, { version, position, entry, event }: Amendment): Promise<AmendAnswer> {
    const { record, log } = workerKeys(this.#keys.tag, worker)
    const reply = await this.#caller.call(
      amendScript,
      { record, log, events: this.#keys.events },
      { worker, version: String(version), position, event, entry },
      { deadlineMs: this.#deadlineMs },
    )
    if (reply[0] === 'session_finished') return { kind: 'session_finished', state: String(reply[1]) }
    return { kind: reply[0] as 'ok' | 'not_found' | 'terminal' | 'busy' | 'moved' }
  }
}
