/** Duty: the messages that wait for a worker, in the order in which it receives them. */
import type { ReactNode } from 'react'
import type { WorkerReport } from '../../../../client/report.ts'
import type { Mail } from '../../../../core/worker/message/message.ts'
import { messageLine } from '../../../../words/lines/message-line.ts'
import { useMailbox } from '../../../api/queries.ts'
import { Empty, Waiting } from '../../../parts/state/empty.tsx'
import { JsonText } from '../../../parts/text/json.tsx'
import { Line } from '../../../parts/text/text.tsx'

export function MailboxTab({ worker: { id } }: { readonly worker: WorkerReport }): ReactNode {
  const query = useMailbox(id)
  const mails = query.data?.mails
  return (
    <div className="tab-body">
      <Waiting query={query} what="the mailbox" />
      {mails?.length === 0 && <Empty commands={[`troupe send ${id} <text>`]}>No message waits for this worker.</Empty>}
      {mails?.map((mail) => (
        <details key={`${mail.lane} ${mail.position}`} className="call">
          <summary>
            <span className="tag">{mail.lane}</span>
            <Line text={mailText(mail)} />
            <span className="item-place">#{mail.position}</span>
          </summary>
          <div className="call-body">
            <JsonText value={mail.order ?? mail.message} />
          </div>
        </details>
      ))}
    </div>
  )
}

function mailText({ message, order, malformed }: Mail): string {
  if (malformed !== undefined) return `cannot be read: ${malformed}`
  return order === undefined ? messageLine(message) : `order to ${order.do}`
}
