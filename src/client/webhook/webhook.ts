/** Duty: endpoints of webhooks and deliveries as programs see them, and the options of their calls. */
import { keyRule, oneOfRule, type Rule, type Rules, wholeNumberRule, yesOrNo } from '../../core/check/check-options.ts'
import { type DeliveryState, deliveryStates } from '../../core/webhook/delivery-state.ts'
import { type Include, includes } from '../../core/webhook/endpoint.ts'
import { type NoticeType, noticeTypes } from '../../core/webhook/notice.ts'
import { addressProblem } from '../../core/worker/notify.ts'
import type { DeliveryRow } from '../../notify/delivery-queue.ts'

export type { DeliveryState, Include, NoticeType }
export { deliveryStates, includes, noticeTypes }

export interface Webhook {
  readonly id: string
  readonly url: string
  /** The types of notices that it is told of. */
  readonly types: readonly NoticeType[]
  /** It is told only of sessions of these kinds; null: of all. */
  readonly kinds: readonly string[] | null
  /** It is told only of sessions with these names; null: with any. */
  readonly names: readonly string[] | null
  /** ids: what happened, when, and to which session. result: also its result, the question, the evidence. */
  readonly include: Include
  /** failing: enabled, and deliveries to it wait for another attempt, or the last one failed for good. */
  readonly state: 'enabled' | 'disabled' | 'failing'
  readonly failing: { readonly retrying: number; readonly reason: string | null } | null
  /** When it last accepted a delivery that is still kept, in ms since 1970. */
  readonly deliveredAt: number | null
  /** Until when its former secret is valid beside its own. */
  readonly previousSecretUntil: number | null
  readonly createdAt: number
  readonly createdBy: string | null
  /** When it was last enabled, disabled or given another secret; null: never. */
  readonly changedAt: number | null
  readonly changedBy: string | null
}

export interface WebhookWithSecret extends Webhook {
  /** `whsec_…`: its receiver verifies requests with it. It is never shown again. */
  readonly secret: string
}

/** A request that tells of something, on its way or kept. */
export type Delivery = Omit<DeliveryRow, 'body'>
export type DeliveryDetails = DeliveryRow

export interface AddWebhook {
  /** An address of http or https, without a password. */
  readonly url: string
  /** What it is told of. Default: session.completed, session.failed, session.cancelled. */
  readonly types?: readonly NoticeType[] | undefined
  /** Only sessions of these kinds. Default: of all. */
  readonly kinds?: readonly string[] | undefined
  /** Only sessions with one of these names. Default: with any. */
  readonly names?: readonly string[] | undefined
  /** `result`: requests also hold the result of the session, the question of an ask, the evidence of a dead letter. Default: `ids`. */
  readonly include?: Include | undefined
  /** The same key gives the same endpoint, with its secret, until it is changed or removed; also from another process. */
  readonly idempotencyKey?: string | undefined
}

export interface RotateWebhook {
  /** The former secret ends at once, not in 24 hours. */
  readonly atOnce?: boolean | undefined
}

export interface DeliveriesQuery {
  /** Only deliveries to this endpoint. */
  readonly webhookId?: string | undefined
  /** waiting, sending, retrying (for another attempt), delivered or failed. Default: any. */
  readonly state?: DeliveryState | undefined
  /** Default 50. */
  readonly limit?: number | undefined
}

/** How many words each list of an endpoint may have, and how long a word may be. */
const wordsMost = 50
const wordLength = 128

function listRule(expects: string, fits: (word: string) => boolean): Rule {
  return {
    expects,
    fits: (value) =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.length <= wordsMost &&
      value.every((word) => typeof word === 'string' && word.length <= wordLength && fits(word)),
  }
}

const nonEmpty = (word: string) => word !== ''

export const addRules: Rules<AddWebhook> = {
  url: {
    isRequired: true,
    expects: 'an address of http or https without a user or a password, like https://example.com/hooks/troupe',
    // The address often holds a secret.
    isSecret: true,
    fits: (value) => addressProblem(value) === null,
  },
  types: listRule(`a list of some of ${noticeTypes.join(', ')}`, (word) =>
    (noticeTypes as readonly string[]).includes(word),
  ),
  kinds: listRule(`a list of 1 to ${wordsMost} kinds`, nonEmpty),
  names: listRule(`a list of 1 to ${wordsMost} names`, nonEmpty),
  include: oneOfRule(includes),
  idempotencyKey: keyRule,
}

export const rotateRules: Rules<RotateWebhook> = { atOnce: yesOrNo }

export const deliveriesRules: Rules<DeliveriesQuery> = {
  webhookId: keyRule,
  state: oneOfRule(deliveryStates),
  limit: wholeNumberRule(1, 1_000),
}
