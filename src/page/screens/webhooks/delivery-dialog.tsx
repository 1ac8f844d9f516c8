/** Duty: one delivery: what is sent, what was answered, and sending it again. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Delivery, DeliveryDetails } from '../../../client/webhook/webhook.ts'
import { formatMoment } from '../../../words/duration.ts'
import { change } from '../../api/http.ts'
import { queries, useDelivery } from '../../api/queries.ts'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { say, sayError } from '../../parts/dialog/notes.tsx'
import { type Fact, Facts } from '../../parts/list/facts.tsx'
import { Waiting } from '../../parts/state/empty.tsx'
import { DeliveryStateWord } from '../../parts/state/state.tsx'
import { Id } from '../../parts/text/command.tsx'
import { JsonText } from '../../parts/text/json.tsx'
import { Text } from '../../parts/text/text.tsx'

/** Sends it once more, whatever became of it before. */
export async function redeliver({ id }: Pick<Delivery, 'id'>): Promise<void> {
  try {
    await change('POST', `webhooks/deliveries/${id}/redeliver`)
    say({ text: 'It is sent once more, as the same message.' })
    await queries.invalidateQueries({ queryKey: ['webhooks/deliveries'] })
  } catch (error) {
    sayError(error)
  }
}

export function DeliveryDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }): ReactNode {
  const query = useDelivery(id)
  const onSubmit = () => {
    onClose()
    void redeliver({ id })
  }
  return (
    <Dialog title="A delivery" submit="Send it again" onSubmit={onSubmit} onClose={onClose}>
      <Waiting query={query} what="the delivery" />
      {query.data !== undefined && <Details delivery={query.data} />}
    </Dialog>
  )
}

function Details({ delivery }: { readonly delivery: DeliveryDetails }): ReactNode {
  const { id, type, state, attempts, status, reason, sessionId, createdAt, finishedAt, nextAt, body } = delivery
  const facts: readonly Fact[] = [
    ['state', <DeliveryStateWord key="state" state={state} />],
    ['tells of', <Text key="type" text={type} isLine />],
    ['attempts', attempts],
    ['last status', status],
    ['not accepted', reason !== null && <Text text={reason} />],
    [
      'session',
      sessionId !== null && (
        <Link to="/sessions/$id" params={{ id: sessionId }}>
          {sessionId}
        </Link>
      ),
    ],
    ['began', formatMoment(createdAt)],
    ['ended', finishedAt !== null && formatMoment(finishedAt)],
    ['tried again', nextAt !== null && formatMoment(nextAt)],
    ['id', <Id key="id" id={id} />],
  ]
  return (
    <>
      <Facts facts={facts} />
      <h3>What is sent</h3>
      <JsonText value={body} />
    </>
  )
}
