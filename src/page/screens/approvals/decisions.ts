/**
 * Duty: decisions about approvals, which can be taken back for a few seconds before they are sent.
 * DECISIONS-1 A decision that was not taken back is sent once, also if the page is closed before its time. Once it is sent, it cannot be taken back.
 * DECISIONS-2 It carries the hash of what the reader saw: if the arguments have changed since, the server refuses it.
 */
import type { Approval } from '../../../client/person/approvals.ts'
import { change, newKey } from '../../api/http.ts'
import { queries } from '../../api/queries.ts'
import { messageOf, say } from '../../parts/notes.tsx'
import { newStore, useStore } from '../../store.ts'

export interface Choice {
  readonly decision: 'approve' | 'deny'
  readonly reason?: string
  readonly arguments?: unknown
  readonly trust?: 'tool'
}

interface Pending {
  readonly approval: Approval
  readonly choice: Choice
  readonly key: string
  readonly timer: ReturnType<typeof setTimeout>
  readonly closeNote: () => void
  isSent: boolean
}

const undoMs = 5_000
const pending = new Map<string, Pending>()
const decided = newStore<ReadonlySet<string>>(new Set())

function notify(): void {
  decided.set(new Set(pending.keys()))
}

export function decide(approval: Approval, choice: Choice): void {
  const { id, tool } = approval
  if (pending.has(id)) return
  const text = `${choice.decision === 'approve' ? 'Approved' : 'Denied'}: ${tool}. It is sent in ${undoMs / 1_000} s.`
  const closeNote = say({ text, ms: undoMs, undo: () => takeBack(id) })
  const timer = setTimeout(() => void sendNow(id), undoMs)
  pending.set(id, { approval, choice, key: newKey(), timer, closeNote, isSent: false })
  notify()
}

/** Takes back the newest decision that was not sent, or the one with this id. */
export function takeBack(id?: string): void {
  const one = [...pending.values()].findLast(({ approval, isSent }) => !isSent && approval.id === (id ?? approval.id))
  if (one === undefined) return
  clearTimeout(one.timer)
  one.closeNote()
  pending.delete(one.approval.id)
  notify()
}

async function sendNow(id: string): Promise<void> {
  const one = pending.get(id)
  if (one === undefined || one.isSent) return
  one.isSent = true
  clearTimeout(one.timer)
  try {
    const { hash } = one.approval as Approval & { readonly hash?: string }
    await change('POST', `approvals/${id}`, {
      body: { ...one.choice, ...(hash !== undefined && { hash }) },
      key: one.key,
    })
  } catch (error) {
    say({ text: `Decision about ${one.approval.tool}: ${messageOf(error)}`, kind: 'bad' })
  }
  pending.delete(id)
  await queries.invalidateQueries({ queryKey: ['approvals'] })
  notify()
}

addEventListener('pagehide', () => {
  for (const id of pending.keys()) void sendNow(id)
})

/** The ids of approvals that were decided here, and of which the server has not answered yet. */
export function useDecided(): ReadonlySet<string> {
  return useStore(decided)
}
