/** Duty: the conversation of one worker, as it was recorded, as its model gets it, and as it is being written. */

import { type ReactNode, useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { WorkerReport } from '../../../../client/report.ts'
import { useAsks } from '../../../api/queries.ts'
import { Pill } from '../../../parts/list/pills.tsx'
import { Empty } from '../../../parts/state/empty.tsx'
import { Markdown } from '../../../parts/text/markdown.tsx'
import { QuestionCard } from '../../approvals/ask-card.tsx'
import { isAgent } from '../is-agent.ts'
import { type LiveSession, useChanges, useLiveText } from '../live-session.ts'
import { SessionContext } from '../session-context.ts'
import { HistoryProblem } from '../tabs/history-problem.tsx'
import { type LoadedHistory, useHistory } from '../use-history.ts'
import { Composer } from './composer.tsx'
import { conversationOf } from './conversation.ts'
import { ConversationOf, Item, Reasoning } from './message.tsx'
import { SentView } from './sent-view.tsx'

type View = 'recorded' | 'sent'

export function ConversationTab({ worker }: { readonly worker: WorkerReport }): ReactNode {
  const { live } = useContext(SessionContext)
  const [view, setView] = useState<View>('recorded')
  const changes = useChanges(live, worker.id)
  const onRead = useCallback(() => live.forgetText(worker.id), [live, worker.id])
  const history = useHistory(worker.id, worker.historyLength, changes, onRead)
  const isOfAgent = isAgent(worker, history.items)
  return (
    <div className="conversation">
      {isOfAgent && (
        <fieldset className="views" aria-label="What is shown">
          <Pill isOn={view === 'recorded'} onPress={() => setView('recorded')}>
            recorded
          </Pill>
          <Pill isOn={view === 'sent'} onPress={() => setView('sent')}>
            as its model gets it
          </Pill>
        </fieldset>
      )}
      {view === 'sent' ? (
        <SentView workerId={worker.id} length={worker.historyLength} />
      ) : (
        <Recorded worker={worker} isOfAgent={isOfAgent} history={history} live={live} />
      )}
      <Composer worker={worker} isAgent={isOfAgent} />
    </div>
  )
}

interface RecordedProps {
  readonly worker: WorkerReport
  readonly isOfAgent: boolean
  readonly history: LoadedHistory
  readonly live: LiveSession
}

function Recorded({ worker, isOfAgent, history, live }: RecordedProps): ReactNode {
  const items = useMemo(() => conversationOf(history.items), [history.items])
  const text = useLiveText(live, worker.id)
  const box = useRef<HTMLDivElement>(null)
  const notePlace = useStayInPlace(box, items[0]?.position, [items, text])
  const loadEarlier = () => {
    notePlace()
    history.loadEarlier()
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard
    <section className="messages" ref={box} tabIndex={0} aria-label="Conversation">
      {history.hasEarlier && (
        <button type="button" className="button" onClick={loadEarlier}>
          Load earlier
        </button>
      )}
      <HistoryProblem history={history} />
      {history.isLoading && <div className="empty">Reading the history …</div>}
      {!history.isLoading && items.length === 0 && history.error === null && <Empty>Nothing is recorded yet.</Empty>}
      <ConversationOf value={isOfAgent ? worker.id : null}>
        {items.map((item) => (
          <Item key={item.position} item={item} />
        ))}
      </ConversationOf>
      {!isOfAgent && <OpenQuestions worker={worker} />}
      {text !== undefined && (
        <article className="item reply live-reply" aria-busy="true">
          <div className="item-head">
            <strong>writing</strong>
            <span className="state" data-look="busy" />
          </div>
          <Reasoning text={text.reasoning} isOpen={text.text === ''} />
          {text.text !== '' && <Markdown text={text.text} />}
        </article>
      )}
    </section>
  )
}

/** Questions of handlers belong to no call. */
function OpenQuestions({ worker }: { readonly worker: WorkerReport }): ReactNode {
  const { id: session } = useContext(SessionContext)
  const { data } = useAsks({ session })
  return data?.asks
    .filter(({ workerId }) => workerId === worker.id)
    .map((ask) => <QuestionCard key={ask.id} ask={ask} />)
}

/**
 * A reader at the end stays at the end; one who has scrolled up stays where they are, also when earlier items come in front. In a narrow window the whole
 * screen scrolls, and begins at its top. `first`: the position of the first item. The function that it returns notes where the reader is now.
 */
function useStayInPlace(
  box: { readonly current: HTMLElement | null },
  first: number | undefined,
  changes: readonly unknown[],
): () => void {
  /** Null: the reader has not scrolled yet. */
  const isAtEnd = useRef<boolean | null>(null)
  /** From the upper edge of what is in sight to the end. */
  const heightBelow = useRef(0)
  const firstBefore = useRef(first)
  const notePlace = useCallback(() => {
    if (box.current === null) return
    const { scrollHeight, scrollTop } = scrollerOf(box.current)
    heightBelow.current = scrollHeight - scrollTop
  }, [box])
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const onScroll = () => {
      notePlace()
      isAtEnd.current = heightBelow.current - scrollerOf(element).clientHeight < 60
    }
    const places = new Set([element, element.closest('.screen') ?? element])
    for (const place of places) place.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      for (const place of places) place.removeEventListener('scroll', onScroll)
    }
  }, [box, notePlace])
  useLayoutEffect(() => {
    if (box.current === null) return
    const scroller = scrollerOf(box.current)
    const hasEarlier = first !== undefined && firstBefore.current !== undefined && first < firstBefore.current
    firstBefore.current = first
    if (hasEarlier) scroller.scrollTop = scroller.scrollHeight - heightBelow.current
    else if (isAtEnd.current ?? scroller === box.current) scroller.scrollTop = scroller.scrollHeight
    // biome-ignore lint/correctness/useExhaustiveDependencies: what has changed
  }, changes)
  return notePlace
}

function scrollerOf(box: HTMLElement): Element {
  return getComputedStyle(box).overflowY === 'visible' ? (box.closest('.screen') ?? box) : box
}
