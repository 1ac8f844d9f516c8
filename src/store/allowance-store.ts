/**
 * Duty: count what access tokens of the API give their sessions to spend, for the whole namespace in partition 0.
 * ALLOWANCE-STORE-1 A request counts once, however often it is sent.
 */
import { hash } from 'node:crypto'
import type { Allowance } from '../core/policy.ts'
import { allowanceKeys } from './keys.ts'
import type { OpenPlace } from './places.ts'
import { giveScript } from './script/scripts.ts'

/** The amounts, in the order in which the script takes them. */
const names = ['sessions', 'modelCalls', 'tokens', 'toolCalls'] as const satisfies readonly (keyof Allowance)[]

/** `given`: what the token has given within the last hour. In `roomMs` milliseconds there is room for what the request asks. */
export type GiveAnswer =
  | { readonly kind: 'ok' }
  | { readonly kind: 'over'; readonly what: keyof Allowance; readonly given: number; readonly roomMs: number }

export interface GiveOrder {
  /** The name of the token. */
  readonly token: string
  /** Tells the request from all others of the token. */
  readonly request: string
  readonly more: Allowance
  /** What the token may give within an hour. An amount that is absent has no bound. */
  readonly most: { readonly [Name in keyof Allowance]?: number | undefined }
  /** How long Redis remembers the request, so that it counts once. */
  readonly knownMs: number
}

export class AllowanceStore {
  readonly #first: OpenPlace
  readonly #deadlineMs: number

  constructor(first: OpenPlace, deadlineMs: number) {
    this.#first = first
    this.#deadlineMs = deadlineMs
  }

  /** Counts what the request gives, unless that is too much. */
  async give({ token, request, more, most, knownMs }: GiveOrder): Promise<GiveAnswer> {
    const { caller, keys } = this.#first
    const own = allowanceKeys(keys.tag, token)
    const [tag, number, given, roomMs] = await caller.call(
      giveScript,
      { given: own.given, request: own.request(hash('sha256', request, 'base64url').slice(0, 32)) },
      { more: inOrder(more), most: inOrder(most), knownMs },
      { deadlineMs: this.#deadlineMs },
    )
    if (tag === 'ok') return { kind: 'ok' }
    const what = names[Number(number) - 1] as keyof Allowance
    return { kind: 'over', what, given: Number(given), roomMs: Number(roomMs) }
  }
}

function inOrder(amounts: GiveOrder['most']): string {
  return names.map((name) => amounts[name] ?? '-').join(' ')
}
