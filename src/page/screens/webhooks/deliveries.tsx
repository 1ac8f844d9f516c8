/** Duty: requests that told an endpoint of something, or are to: for one endpoint, or for all; and what each was answered. */

import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Delivery, DeliveryState, Webhook } from '../../../client/webhook/webhook.ts'
import { formatTime } from '../../../words/duration.ts'
import { useDeliveries } from '../../api/queries.ts'
import { Pills } from '../../parts/list/pills.tsx'
import { useRowKeys } from '../../parts/list/rows.ts'
import { type Column, Table } from '../../parts/list/table.tsx'
import { Empty, Waiting } from '../../parts/state/empty.tsx'
import { DeliveryStateWord } from '../../parts/state/state.tsx'
import { Line } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'
import { DeliveryDialog, redeliver } from './delivery-dialog.tsx'

const states: readonly DeliveryState[] = ['waiting', 'sending', 'retrying', 'delivered', 'failed']

interface DeliveriesProps {
  /** Only deliveries to this endpoint. Else to all endpoints, with the addresses of `webhooks`. */
  readonly webhookId?: string
  readonly webhooks?: readonly Webhook[]
  /** Only deliveries in this state; from the address of the page. */
  readonly state: string | undefined
  readonly onState: (state: string | undefined) => void
}

export function Deliveries({ webhookId, webhooks = [], state, onState }: DeliveriesProps): ReactNode {
  const query = useDeliveries({ ...(webhookId !== undefined && { webhook: webhookId }), state })
  const deliveries = query.data?.deliveries ?? []
  const [shown, setShown] = useState<string | null>(null)
  const rows = { deliveries, onShow: setShown }
  return (
    <section className="box" aria-label="Deliveries">
      <div className="box-head">
        <h2>Deliveries</h2>
        <div className="pills">
          <Pills of={states} chosen={state} onChoose={onState} />
        </div>
      </div>
      <Waiting query={query} what="deliveries" />
      {query.data !== undefined && deliveries.length === 0 && (
        <Empty>{state === undefined ? 'Nothing was sent yet.' : `No delivery is ${state}.`}</Empty>
      )}
      {deliveries.length === 0 ? null : webhookId === undefined ? (
        <DeliveryTable {...rows} webhooks={webhooks} />
      ) : (
        <KeyedTable {...rows} />
      )}
      {shown !== null && <DeliveryDialog id={shown} onClose={() => setShown(null)} />}
    </section>
  )
}

interface RowsProps {
  readonly deliveries: readonly Delivery[]
  readonly onShow: (id: string) => void
}

function KeyedTable({ deliveries, onShow }: RowsProps): ReactNode {
  const open = ({ id }: Delivery) => onShow(id)
  const chosen = useRowKeys('Deliveries', { rows: deliveries, idOf: ({ id }) => id, open }, (one) => [
    { key: 'b', does: 'send it again', run: () => one !== undefined && void redeliver(one) },
  ])
  return <DeliveryTable deliveries={deliveries} onShow={onShow} chosen={chosen} />
}

interface DeliveryTableProps extends RowsProps {
  /** With these endpoints, each row says to which of them it went. */
  readonly webhooks?: readonly Webhook[]
  readonly chosen?: number
}

function DeliveryTable({ deliveries, onShow, webhooks, chosen }: DeliveryTableProps): ReactNode {
  const columns: readonly Column<Delivery>[] = [
    { head: 'State', cell: ({ state }) => <DeliveryStateWord state={state} /> },
    {
      head: 'Tells of',
      cell: ({ id, type }) => (
        <button type="button" className="link" onClick={() => onShow(id)}>
          <Line text={type} />
        </button>
      ),
    },
    ...(webhooks === undefined
      ? []
      : [
          {
            head: 'To',
            cell: (one: Delivery) => <Receiver delivery={one} webhooks={webhooks} />,
            className: 'wide grow',
          },
        ]),
    {
      head: 'Session',
      cell: ({ sessionId }) => sessionId !== null && <SessionLink id={sessionId} />,
      className: 'wide',
    },
    { head: 'Answer', cell: answerOf, className: 'wide grow' },
    { head: 'Attempts', cell: ({ attempts }) => attempts, className: 'number wide' },
    { head: 'When', cell: whenOf, className: 'number' },
    {
      head: <span className="spoken">Resend</span>,
      cell: (one) => (
        <button type="button" className="button" onClick={() => void redeliver(one)}>
          Resend
        </button>
      ),
      className: 'number',
    },
  ]
  return (
    <Table
      name="Deliveries"
      columns={columns}
      rows={deliveries}
      keyOf={({ id }) => id}
      {...(chosen !== undefined && { chosen })}
    />
  )
}

function SessionLink({ id }: { readonly id: string }): ReactNode {
  return (
    <Link to="/sessions/$id" params={{ id }} className="mono">
      {id.slice(0, 8)}
    </Link>
  )
}

function Receiver({
  delivery,
  webhooks,
}: {
  readonly delivery: Delivery
  readonly webhooks: readonly Webhook[]
}): ReactNode {
  const { webhookId, host } = delivery
  if (webhookId === null) return <Line text={`${host ?? ''}, as its session says`} className="muted" />
  return (
    <Link to="/webhooks/$id" params={{ id: webhookId }}>
      <Line text={webhooks.find(({ id }) => id === webhookId)?.url ?? 'an endpoint that was removed'} />
    </Link>
  )
}

/** The status of the last answer; else why there was none. */
function answerOf({ state, status, reason }: Delivery): ReactNode {
  if (state === 'delivered') return status ?? 'accepted'
  return reason === null ? <span className="muted">–</span> : <Line text={reason} />
}

function whenOf({ state, createdAt, finishedAt, nextAt }: Delivery): ReactNode {
  if (state === 'retrying' && nextAt !== null)
    return <span title="when it is tried again">at {formatTime(nextAt)}</span>
  return (
    <>
      <Age since={finishedAt ?? createdAt} /> ago
    </>
  )
}
