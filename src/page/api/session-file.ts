/**
 * Duty: an exported session that somebody dropped on the page: what the API would answer about it, without a server.
 * SESSION-FILE-1 Nothing of the file leaves the page. A request to change something is refused.
 * SESSION-FILE-2 A line that cannot be read is counted and passed over; a file without a session is refused with a sentence.
 */
import type { Report, SessionReport, WorkerReport } from '../../client/report.ts'
import type { HistoryItem } from '../../client/worker.ts'
import { newStore, useStore } from '../store.ts'

export interface SessionFile {
  readonly name: string
  readonly exportedAt: number | null
  readonly report: Report
  readonly histories: ReadonlyMap<string, readonly HistoryItem[]>
  /** How many lines could not be read. */
  readonly unreadable: number
}

type Line =
  | { readonly type: 'session'; readonly exportedAt?: number; readonly session: SessionReport }
  | { readonly type: 'worker'; readonly worker: WorkerReport }
  | ({ readonly type: 'history.entry'; readonly workerId: string } & HistoryItem)

/** Throws an Error with a sentence for people. */
export function readSessionFile(name: string, text: string): SessionFile {
  let head: Extract<Line, { type: 'session' }> | undefined
  let unreadable = 0
  const workers: WorkerReport[] = []
  const histories = new Map<string, HistoryItem[]>()
  for (const json of text.split('\n')) {
    if (json.trim() === '') continue
    const line = lineOf(json)
    if (line?.type === 'session') head = line
    else if (line?.type === 'worker') workers.push(line.worker)
    else if (line?.type === 'history.entry') {
      const { workerId, position, entry } = line
      const items = histories.get(workerId) ?? []
      items.push({ position, entry })
      histories.set(workerId, items)
    } else unreadable++
  }
  if (typeof head?.session?.id !== 'string' || workers.length === 0)
    throw new Error(
      `${name} is no exported session: export one with the button of a session, or GET /v1/sessions/<id>/export.`,
    )
  return {
    name,
    exportedAt: head.exportedAt ?? null,
    report: { session: head.session, workers },
    histories,
    unreadable,
  }
}

function lineOf(json: string): Line | null {
  try {
    return JSON.parse(json) as Line | null
  } catch {
    return null
  }
}

const opened = newStore<SessionFile | null>(null)

/** Null closes it. */
export function openSessionFile(file: SessionFile | null): void {
  opened.set(file)
}

export function useSessionFile(): SessionFile | null {
  return useStore(opened)
}

/** True if this path is about the session of the open file. */
export function isInFile(path: string): boolean {
  const [noun, id = ''] = path.split('/')
  const open = opened.get()
  if (open === null) return false
  return noun === 'sessions'
    ? id === open.report.session.id
    : noun === 'workers' && open.report.workers.some((worker) => worker.id === id)
}

type Query = Readonly<Record<string, unknown>>

/** What the API would answer. Undefined for what the file does not have. */
export function answerFromFile(path: string, query: Query = {}): unknown {
  const [noun, id = '', part] = path.split('/')
  const open = opened.get()
  if (open === null) return undefined
  if (noun === 'sessions') return part === undefined ? open.report : undefined
  if (part === undefined) return open.report.workers.find((worker) => worker.id === id)
  if (part === 'mailbox') return { mails: [] }
  if (part !== 'history') return undefined
  const items = open.histories.get(id) ?? []
  const after = Number(query.after ?? -1)
  const entries = items.filter(({ position }) => position > after).slice(0, Number(query.limit ?? 100))
  return { entries, length: items.length }
}
