/** Endpoints and deliveries as lines and objects. */
import type { Delivery, DeliveryDetails, Webhook, WebhookWithSecret } from '../../../client/webhook/webhook.ts'
import { formatDuration, momentAndAge } from '../../../words/duration.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { type Answer, factLines } from '../../view/answer.ts'
import type { Page, Style } from '../../view/page.ts'

export function webhookObject({ id, ...webhook }: Webhook): object {
  return { webhookId: id, ...webhook }
}

export function deliveryObject({ id, ...delivery }: Delivery | DeliveryDetails): object {
  return { deliveryId: id, ...delivery }
}

/** How the last attempt ended. */
export function endOf({ status, reason }: Delivery): string {
  return reason ?? (status === null ? '' : `status ${status}`)
}

export function stateStyle({ state }: { readonly state: string }): Style | undefined {
  if (state === 'failing' || state === 'failed') return 'red'
  return state === 'disabled' ? 'dim' : undefined
}

export function webhookLines(webhook: Webhook, page: Page): string[] {
  const { id, url, types, kinds, names, include, state, failing, deliveredAt, previousSecretUntil } = webhook
  const { createdAt, createdBy, changedAt, changedBy } = webhook
  const retrying = failing?.retrying ?? 0
  return factLines(
    [
      ['webhook', id],
      ['url', escapeLine(url)],
      ['state', state],
      ['why', failing?.reason == null ? null : escapeLine(failing.reason)],
      ['retrying', retrying === 0 ? null : `${retrying}: troupe webhook deliveries ${id} --state retrying`],
      ['told of', types.join(', ')],
      ['kinds', kinds && escapeLine(kinds.join(', '))],
      ['names', names && escapeLine(names.join(', '))],
      ['includes', include],
      ['delivered', deliveredAt === null ? null : momentAndAge(deliveredAt)],
      ['old secret', previousSecretUntil === null ? null : untilText(previousSecretUntil)],
      ['added', whenAndWho(createdAt, createdBy)],
      ['changed', changedAt === null ? null : whenAndWho(changedAt, changedBy)],
    ],
    page,
  )
}

function whenAndWho(at: number, by: string | null): string {
  return `${momentAndAge(at)}${by === null ? '' : `, by ${escapeLine(by)}`}`
}

function untilText(until: number): string {
  return until <= Date.now() ? 'ended' : `is good until ${new Date(until).toISOString()}`
}

export function deliveryLines(delivery: DeliveryDetails, page: Page): string[] {
  const { id, webhookId, host, type, sessionId, state, attempts, createdAt, nextAt, finishedAt, body } = delivery
  return factLines(
    [
      ['delivery', id],
      ['webhook', webhookId],
      ['host', host && escapeLine(host)],
      ['type', escapeLine(type)],
      ['session', sessionId && escapeLine(sessionId)],
      ['state', state],
      ['attempts', String(attempts)],
      ['last', escapeLine(endOf(delivery))],
      ['made', momentAndAge(createdAt)],
      ['next', nextAt === null ? null : `in ${formatDuration(nextAt - Date.now())}`],
      ['finished', finishedAt === null ? null : momentAndAge(finishedAt)],
      ['body', escapeLine(JSON.stringify(body))],
      ['once more', state === 'sending' ? null : `troupe webhook redeliver ${escapeLine(id)}`],
    ],
    page,
  )
}

/** The secret is the last line on stdout, and nowhere else. */
export function secretAnswer(type: string, { secret, ...webhook }: WebhookWithSecret): Answer {
  return {
    objects: [{ type, ...webhookObject(webhook), secret }],
    lines: (page) => [...webhookLines(webhook, page), secret],
    note: 'The last line is its secret, with which its receiver verifies requests. Nobody can show it again.',
  }
}
