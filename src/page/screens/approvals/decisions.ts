/**
 * Duty: decisions about approvals, one or several at once, which can be taken back for a few seconds before they are sent.
 * DECISIONS-1 A decision that was not taken back is sent once, also if the page is closed or left before its time: a telephone may end a page that is out
 * of sight without a word. Once it is sent, it cannot be taken back.
 * DECISIONS-2 It carries the hash of what the reader saw: if the arguments have changed since, the server refuses it.
 */
import type { Approval } from '../../../client/person/approvals.ts'
import { change } from '../../api/http.ts'
import { queries } from '../../api/queries.ts'
import { messageOf, say } from '../../parts/dialog/notes.tsx'
import { newStore, useStore } from '../../store.ts'

export interface Choice {
  readonly decision: 'approve' | 'deny'
  readonly reason?: string
  readonly arguments?: unknown
  readonly trust?: 'tool'
}

/** One choice about all of these approvals. */
interface Decided {
  readonly approvals: readonly Approval[]
  readonly choice: Choice
  readonly timer: ReturnType<typeof setTimeout>
  readonly closeNote: () => void
  isSent: boolean
}

const undoMs = 5_000
/** How many decisions the server takes in one request. */
const sentAtOnce = 100
const waiting = new Set<Decided>()
/** The choices, by the id of the approval. */
const choices = newStore<ReadonlyMap<string, Choice>>(new Map())

function notify(): void {
  choices.set(new Map([...waiting].flatMap(({ approvals, choice }) => approvals.map(({ id }) => [id, choice]))))
}

export function decide(about: readonly Approval[], choice: Choice): void {
  const approvals = about.filter(({ id }) => !choices.get().has(id))
  const [first] = approvals
  if (first === undefined) return
  const what = approvals.length === 1 ? first.tool : `${approvals.length} calls`
  const text = `${choice.decision === 'approve' ? 'Approved' : 'Denied'}: ${what}. It is sent in ${undoMs / 1_000} s.`
  const one: Decided = {
    approvals,
    choice,
    timer: setTimeout(() => void sendNow(one), undoMs),
    closeNote: say({ text, ms: undoMs, undo: () => takeBack(one) }),
    isSent: false,
  }
  waiting.add(one)
  notify()
}

function takeBack(one: Decided): void {
  clearTimeout(one.timer)
  waiting.delete(one)
  notify()
}

interface Reply {
  readonly decided: readonly { readonly problem?: { readonly detail: string } }[]
}

async function sendNow(one: Decided): Promise<void> {
  if (one.isSent) return
  one.isSent = true
  clearTimeout(one.timer)
  one.closeNote()
  const requests = []
  for (let at = 0; at < one.approvals.length; at += sentAtOnce) {
    const approvals = one.approvals.slice(at, at + sentAtOnce)
    requests.push(sendSome(approvals, one.choice))
  }
  await Promise.all(requests)
  await queries.invalidateQueries({ queryKey: ['approvals'] })
  waiting.delete(one)
  notify()
}

async function sendSome(approvals: readonly Approval[], choice: Choice): Promise<void> {
  const complain = (tool: string, why: string) => say({ text: `Decision about ${tool}: ${why}`, kind: 'bad' })
  try {
    const decisions = approvals.map(({ id, hash }) => ({ ...choice, id, hash }))
    const { decided } = await change<Reply>('POST', 'approvals/decide', { body: { decisions }, isOnce: true })
    for (const [at, { problem }] of decided.entries())
      if (problem !== undefined) complain(approvals[at]?.tool ?? 'a call', problem.detail)
  } catch (error) {
    complain(approvals.length === 1 ? (approvals[0]?.tool ?? '') : `${approvals.length} calls`, messageOf(error))
  }
}

function sendAll(): void {
  for (const one of waiting) void sendNow(one)
}
addEventListener('pagehide', sendAll)
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') sendAll()
})

/** What was decided here, by the id of its approval, while the server has not answered yet. */
export function useChoices(): ReadonlyMap<string, Choice> {
  return useStore(choices)
}
