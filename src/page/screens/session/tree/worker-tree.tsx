/**
 * Duty: the tree of a session's workers: what each does, what it waits for, what it has used.
 * TREE-1 Only the rows in sight are in the page, so that ten thousand workers are no more work than thirty.
 */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import type { WorkerReport } from '../../../../client/report.ts'
import { tokensText } from '../../../../words/amounts.ts'
import { escapeLine } from '../../../../words/text/escape.ts'
import { useKeys } from '../../../keys.ts'
import { WorkerState } from '../../../parts/state/state.tsx'
import { Line } from '../../../parts/text/text.tsx'
import { type TreeRow, treeRows } from './tree-rows.ts'

const rowHeight = 30
/** With this many workers or more, the tree begins with its first levels alone. */
const manyWorkers = 200

interface TreeProps {
  readonly workers: readonly WorkerReport[]
  readonly chosen: string
  readonly onChoose: (id: string) => void
}

interface Openness {
  /** Levels below this one are closed. */
  readonly level: number
  /** Workers that were opened or closed one by one. */
  readonly single: ReadonlyMap<string, boolean>
}

export function WorkerTree({ workers, chosen, onChoose }: TreeProps): ReactNode {
  const [open, setOpen] = useState<Openness>({ level: workers.length > manyWorkers ? 1 : 99, single: new Map() })
  const rows = useMemo(
    () => treeRows(workers, (id, level) => open.single.get(id) ?? level < open.level),
    [workers, open],
  )
  const index = useMemo(() => rowOf(rows, workers, chosen), [rows, workers, chosen])
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  })
  useEffect(() => {
    virtual.scrollToIndex(index, { align: 'auto' })
  }, [index, virtual])
  const setOne = (id: string, isOpen: boolean) => setOpen({ ...open, single: new Map(open.single).set(id, isOpen) })
  const toLevel = (level: number) => setOpen({ level, single: new Map() })
  const actions = { rows, index, onChoose, setOne, toLevel }
  useTreeKeys(box, actions)
  return (
    <div
      ref={box}
      className="tree"
      role="tree"
      aria-label={`${workers.length} workers`}
      tabIndex={0}
      aria-activedescendant={`row-${rows[index]?.worker.id}`}
      onKeyDown={(event) => onTreeKey(event, actions)}
    >
      <div className="tree-inner" style={{ height: virtual.getTotalSize() }} role="presentation">
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index] as TreeRow<WorkerReport>
          return (
            <Row
              key={row.worker.id}
              row={row}
              top={item.start}
              isChosen={row.worker.id === chosen}
              onChoose={() => onChoose(row.worker.id)}
              onToggle={() => setOne(row.worker.id, !row.isOpen)}
            />
          )
        })}
      </div>
    </div>
  )
}

/** The row of the chosen worker; if it is closed away, that of the nearest worker above it. */
function rowOf(rows: readonly TreeRow[], workers: readonly WorkerReport[], chosen: string): number {
  const places = new Map(rows.map(({ worker }, at) => [worker.id, at]))
  const parents = new Map(workers.map(({ id, parentId }) => [id, parentId]))
  for (let id: string | null | undefined = chosen; id != null; ) {
    const place = places.get(id)
    if (place !== undefined) return place
    const above: string | null | undefined = parents.get(id)
    // If stored data are damaged, a worker may stand above itself.
    parents.delete(id)
    id = above
  }
  return 0
}

interface TreeActions {
  readonly rows: readonly TreeRow<WorkerReport>[]
  readonly index: number
  readonly onChoose: (id: string) => void
  readonly setOne: (id: string, isOpen: boolean) => void
  readonly toLevel: (level: number) => void
}

/** The keys of the tree, which the list of keys names; they work while the tree has the focus. */
function useTreeKeys(
  box: { readonly current: HTMLElement | null },
  { rows, index, onChoose, toLevel }: TreeActions,
): void {
  const focus = () => box.current?.focus()
  const parent = () => rows[index]?.worker.parentId
  useKeys('Tree of workers', [
    { key: 'ArrowDown', does: 'go into the tree; then arrows move, open and close', run: focus },
    { key: 'e', does: 'open all', run: () => toLevel(99) },
    { key: 'w', does: 'close all', run: () => toLevel(0) },
    { key: 'p', does: 'to the parent', run: () => parent() != null && onChoose(parent() as string) },
    { key: 'R', does: 'to the root (in the tree also t)', run: () => rows[0] && onChoose(rows[0].worker.id) },
    ...Array.from({ length: 10 }, (_, level) => ({
      key: String(level),
      // The list of keys has one line for all of them.
      does: level === 0 ? 'open no level; 1 to 9 open so many' : '',
      run: () => toLevel(level),
    })),
  ])
}

const pageRows = 15

function onTreeKey(event: KeyboardEvent, actions: TreeActions): void {
  if (event.ctrlKey || event.altKey || event.metaKey || !move(event.key, actions)) return
  event.preventDefault()
}

/** Returns false for a key that does not belong to the tree. */
function move(key: string, { rows, index, onChoose, setOne }: TreeActions): boolean {
  const row = rows[index]
  if (row === undefined) return false
  const to = (at: number) => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, at))]
    if (next !== undefined) onChoose(next.worker.id)
    return true
  }
  const { id, parentId } = row.worker
  switch (key) {
    case 'ArrowDown':
      return to(index + 1)
    case 'ArrowUp':
      return to(index - 1)
    case 'Home':
    case 't':
      return to(0)
    case 'End':
      return to(rows.length - 1)
    case 'PageDown':
      return to(index + pageRows)
    case 'PageUp':
      return to(index - pageRows)
    case 'ArrowRight':
      if (row.isOpen || row.children === 0) return to(index + 1)
      setOne(id, true)
      return true
    case 'ArrowLeft':
      if (row.isOpen) setOne(id, false)
      else if (parentId !== null) onChoose(parentId)
      return true
    default:
      return false
  }
}

interface RowProps {
  readonly row: TreeRow<WorkerReport>
  readonly top: number
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly onToggle: () => void
}

function Row({
  row: { worker, level, children, isOpen, needsBelow },
  top,
  isChosen,
  onChoose,
  onToggle,
}: RowProps): ReactNode {
  const { id, name, kind, activity, holdup, mailbox, usage } = worker
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names the row that is chosen
    <div
      id={`row-${id}`}
      role="treeitem"
      aria-level={level + 1}
      aria-selected={isChosen}
      aria-expanded={children > 0 ? isOpen : undefined}
      className="tree-row"
      style={{ transform: `translateY(${top}px)`, paddingLeft: 6 + Math.min(level, 12) * 14 }}
      onClick={onChoose}
      title={holdup === null ? undefined : `waits for ${escapeLine(holdup.waitsFor)}`}
    >
      <span
        className="tree-twist"
        data-open={children === 0 ? undefined : isOpen}
        aria-hidden="true"
        onClick={(event) => toggle(event, onToggle)}
      />
      <Line text={name} className="tree-name" />
      {name !== kind && <Line text={kind} className="muted tree-kind" />}
      <span className="tree-facts">
        {mailbox.pending > 0 && (
          <span className="tag" title="messages that wait">
            ✉ {mailbox.pending}
          </span>
        )}
        {needsBelow > 0 && !isOpen && (
          <span className="tag warn" title="workers below it that wait for somebody">
            {needsBelow}
          </span>
        )}
        {tokens > 0 && (
          <span className="muted number" title="tokens">
            {tokensText(tokens)}
          </span>
        )}
        <WorkerState activity={activity} holdup={holdup} />
      </span>
    </div>
  )
}

function toggle(event: { stopPropagation(): void }, onToggle: () => void): void {
  event.stopPropagation()
  onToggle()
}
