/** Duty: one endpoint: what it is told of, whether it accepts it, the deliveries to it, and what can be done with it. */
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Webhook } from '../../../client/webhook/webhook.ts'
import { count } from '../../../words/amounts.ts'
import { formatMoment } from '../../../words/duration.ts'
import { useWebhook } from '../../api/queries.ts'
import { useNow } from '../../clock.ts'
import { type Fact, Facts } from '../../parts/list/facts.tsx'
import { Waiting } from '../../parts/state/empty.tsx'
import { EndpointState } from '../../parts/state/state.tsx'
import { Id } from '../../parts/text/command.tsx'
import { Text } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { Deliveries } from './deliveries.tsx'
import { onlyText, wordsOfTypes } from './notice-words.ts'
import { WebhookActions } from './webhook-actions.tsx'

const route = getRouteApi('/webhooks/$id')

export function WebhookScreen(): ReactNode {
  const { id } = route.useParams()
  const { state } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useWebhook(id)
  const webhook = query.data?.id === id ? query.data : undefined
  useTitle('Webhooks')
  return (
    <div className="screen-body">
      <Link to="/webhooks">All endpoints</Link>
      <section className="box" aria-label="Endpoint">
        <Waiting query={{ ...query, data: webhook }} what="the endpoint" />
        {webhook !== undefined && <Endpoint webhook={webhook} />}
      </section>
      <Deliveries webhookId={id} state={state} onState={(next) => void navigate({ search: { state: next } })} />
    </div>
  )
}

function Endpoint({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { id, url, state, failing, previousSecretUntil } = webhook
  const now = useNow()
  return (
    <>
      <div className="box-head">
        <EndpointState state={state} />
        <h2 className="mono address">
          <Text text={url} isLine />
        </h2>
        <WebhookActions key={id} webhook={webhook} />
      </div>
      <div className="box-body">
        {failing !== null && (
          <div className="holdup" data-needs="true">
            <span>
              It does not accept what it is told
              {failing.reason !== null && (
                <>
                  : <Text text={failing.reason} isLine />
                </>
              )}
              {failing.retrying > 0 && `; ${count(failing.retrying, 'delivery')} on the way, tried again`}
            </span>
          </div>
        )}
        {state === 'disabled' && (
          <p className="muted">It is told of nothing until somebody enables it, also not later of what happens now.</p>
        )}
        <WebhookFacts webhook={webhook} />
        {previousSecretUntil !== null && previousSecretUntil > now && (
          <p className="muted">Its former secret is good until {formatMoment(previousSecretUntil)}.</p>
        )}
      </div>
    </>
  )
}

function WebhookFacts({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { id, types, include, deliveredAt, createdAt, createdBy, changedAt, changedBy } = webhook
  const only = onlyText(webhook)
  const facts: readonly Fact[] = [
    ['told when', types.map((type) => wordsOfTypes[type]).join(', ')],
    ['only', only !== '' && <Text text={only.replace(/^only /, '')} isLine />],
    ['includes', include === 'ids' ? 'what happened, when, and to which session' : 'also what came of it'],
    ['accepted', deliveredAt === null ? 'nothing yet' : <Moment key="accepted" at={deliveredAt} />],
    ['added', <Moment key="added" at={createdAt} by={createdBy} />],
    ['changed', changedAt !== null && <Moment key="changed" at={changedAt} by={changedBy} />],
    ['id', <Id key="id" id={id} />],
  ]
  return <Facts facts={facts} />
}

function Moment({ at, by = null }: { readonly at: number; readonly by?: string | null }): ReactNode {
  return (
    <>
      <Age since={at} /> ago
      {by !== null && (
        <>
          , by <Text text={by} isLine />
        </>
      )}
    </>
  )
}
