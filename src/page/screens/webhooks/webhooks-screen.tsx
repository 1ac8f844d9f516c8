/** Duty: the screen of endpoints: addresses that are told of what happens, whether they accept it, and what was sent to whom. */
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Webhook, WebhookWithSecret } from '../../../client/webhook/webhook.ts'
import { useWebhooks } from '../../api/queries.ts'
import { useRowKeys } from '../../parts/list/rows.ts'
import { type Column, Table } from '../../parts/list/table.tsx'
import { Empty, Waiting } from '../../parts/state/empty.tsx'
import { EndpointState } from '../../parts/state/state.tsx'
import { Line, Text } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { AddDialog } from './add-dialog.tsx'
import { Deliveries } from './deliveries.tsx'
import { onlyText } from './notice-words.ts'
import { SecretDialog } from './secret-dialog.tsx'

const route = getRouteApi('/webhooks')

export function WebhooksScreen(): ReactNode {
  useTitle('Webhooks')
  const query = useWebhooks()
  const webhooks = query.data?.webhooks ?? []
  const { state } = route.useSearch()
  const setSearch = route.useNavigate()
  const navigate = useNavigate()
  const [isAdding, setAdding] = useState(false)
  const [added, setAdded] = useState<WebhookWithSecret | null>(null)
  const open = ({ id }: { readonly id: string }) => void navigate({ to: '/webhooks/$id', params: { id } })
  const chosen = useRowKeys('Webhooks', { rows: webhooks, idOf: ({ id }) => id, open }, () => [
    { key: 'n', does: 'add an endpoint', run: () => setAdding(true) },
  ])
  return (
    <div className="screen-body">
      <section className="box" aria-label="Endpoints">
        <div className="box-head">
          <h2>Endpoints</h2>
          <button type="button" className="button main" onClick={() => setAdding(true)}>
            Add <kbd>n</kbd>
          </button>
        </div>
        <Waiting query={query} what="endpoints" />
        {query.data !== undefined && webhooks.length === 0 && (
          <Empty commands={['troupe webhook add https://example.com/hooks/troupe']}>
            No address is told of what happens. Add one here, or in a terminal:
          </Empty>
        )}
        {webhooks.length > 0 && (
          <Table name="Endpoints" columns={columns} rows={webhooks} keyOf={({ id }) => id} chosen={chosen} />
        )}
      </section>
      <Deliveries webhooks={webhooks} state={state} onState={(next) => void setSearch({ search: { state: next } })} />
      {isAdding && (
        <AddDialog
          onClose={() => setAdding(false)}
          onAdded={(one) => {
            setAdding(false)
            setAdded(one)
          }}
        />
      )}
      {added !== null && (
        <SecretDialog
          webhook={added}
          onClose={() => {
            setAdded(null)
            open(added)
          }}
        />
      )}
    </div>
  )
}

const columns: readonly Column<Webhook>[] = [
  { head: 'State', cell: ({ state }) => <EndpointState state={state} /> },
  {
    head: 'Address',
    className: 'address',
    cell: ({ id, url, failing }) => (
      <>
        <Link to="/webhooks/$id" params={{ id }}>
          <Text text={url} isLine />
        </Link>
        {failing !== null && (
          <p className="bad">
            <Text text={failing.reason ?? `${failing.retrying} on the way`} isLine />
          </p>
        )}
      </>
    ),
  },
  { head: 'Events', cell: (webhook) => <Line text={wishesText(webhook)} />, className: 'wide muted' },
  { head: 'Last accepted', cell: ({ deliveredAt }) => <Ago at={deliveredAt} />, className: 'number' },
]

function wishesText(webhook: Webhook): string {
  return [webhook.types.join(', '), onlyText(webhook)].filter(Boolean).join('; ')
}

function Ago({ at }: { readonly at: number | null }): ReactNode {
  if (at === null) return <span className="muted">never</span>
  return (
    <>
      <Age since={at} /> ago
    </>
  )
}
