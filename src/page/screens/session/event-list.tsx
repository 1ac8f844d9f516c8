/** Duty: the events of a session, folded below the other parts: in lines for people, of the chosen subtree or of all. */

import { type ReactNode, useContext, useMemo, useState } from 'react'
import { Roster } from '../../../client/event/activity.ts'
import type { WorkerReport } from '../../../client/report.ts'
import type { RawEvent } from '../../../core/event/event.ts'
import { EventLines } from '../../../words/lines/event-lines.ts'
import { Pill } from '../../parts/list/pills.tsx'
import { Text } from '../../parts/text/text.tsx'
import { useEvents } from './live-session.ts'
import { SessionContext } from './session-context.ts'

const linesMost = 300

interface EventLine {
  readonly key: string
  readonly text: string
}

export function EventList({ workerId }: { readonly workerId: string }): ReactNode {
  const { live, report } = useContext(SessionContext)
  const [isOpen, setOpen] = useState(false)
  const [find, setFind] = useState('')
  const [isOfAll, setOfAll] = useState(true)
  const events = useEvents(live)
  const lines = useMemo(
    () => (isOpen ? linesOf(events, report?.workers ?? [], (event) => isOfAll || event.workerId === workerId) : []),
    [events, report, isOpen, isOfAll, workerId],
  )
  const shown = lines.filter(({ text }) => text.toLowerCase().includes(find.toLowerCase()))
  return (
    <details className="events" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        Events <span className="muted number">{events.length}</span>
      </summary>
      <div className="pills">
        <input
          className="field search"
          type="search"
          placeholder="Filter"
          aria-label="Filter events"
          value={find}
          onChange={({ target }) => setFind(target.value)}
        />
        <Pill isOn={!isOfAll} onPress={() => setOfAll(!isOfAll)}>
          only of this worker
        </Pill>
      </div>
      {shown.length === 0 && <p className="empty">{emptyText(events.length, find)}</p>}
      <ol className="event-lines mono" aria-live="off" hidden={shown.length === 0}>
        {shown
          .slice(-linesMost)
          .toReversed()
          .map(({ key, text }) => (
            <li key={key}>
              <Text text={text} isLine />
            </li>
          ))}
      </ol>
    </details>
  )
}

function emptyText(events: number, find: string): string {
  if (events === 0) return 'Nothing has happened in the last minutes.'
  return find === '' ? 'None of it needs a line: the tree shows what has changed.' : 'No line has this text.'
}

function linesOf(
  events: readonly RawEvent[],
  workers: readonly WorkerReport[],
  isWanted: (event: RawEvent) => boolean,
): EventLine[] {
  const roster = new Roster()
  for (const worker of workers) roster.learn(worker)
  const lines = new EventLines()
  // Events of one entry of the stream were stored together.
  return [...Map.groupBy(events, ({ id }) => id.split('.')[0])].flatMap(([entry, together]) => {
    for (const event of together) roster.note(event)
    return lines.of(together.filter(isWanted), roster).map((text, index) => ({ key: `${entry} ${index}`, text }))
  })
}
