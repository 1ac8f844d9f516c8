/**
 * What must be true of each call that a script executed, judged by the stores before and after and by what was noted along the
 * way, not by the rules of the reducer. Invariants are cited by their numbers in docs/model.md.
 */
import type { Answer, Call, Claimed, CommitCall, EnterCall } from '../calls.ts'
import { newRecord, rootId, type Store, type WorkerRecord } from '../records.ts'
import type { Rules } from '../rules/shared-rules.ts'
import type { Ghost, World } from '../world.ts'

export interface Checked {
  readonly ghost: Ghost
  readonly violations: readonly string[]
}

const recordOf = (store: Store, id: string): WorkerRecord => store.workers[id] ?? newRecord({})

export function checkCall(
  { store: before, ghost }: World,
  call: Call,
  answer: Answer,
  after: Store,
  earlier: Answer | null,
  rules: Rules,
): Checked {
  const violations = [
    ...versionRules(before, after),
    ...writerRules(before, call, after),
    ...cancelRules(before, ghost, call, answer, after),
    ...duplicateRules(before, call, answer, after, earlier),
    ...askEndRules(before, after),
    ...enterRules(before, ghost, call, answer),
  ]
  const noted = note(ghost, before, call, answer, after)
  const startsMost = rules.suspectAfter + rules.poisonAfter
  for (const [id, count] of Object.entries(noted.starts))
    if (count > startsMost) violations.push(`I14 ${id} was started ${count} times without a commit`)
  return { ghost: noted, violations }
}

/** I4, I5: one version for each commit, a history that only grows, epochs that never decrease. */
function versionRules(before: Store, after: Store): string[] {
  const lines: string[] = []
  for (const [id, was] of Object.entries(before.workers)) {
    const is = recordOf(after, id)
    const steps = is.version - was.version
    if (steps !== 0 && steps !== 1) lines.push(`I4 the version of ${id} went from ${was.version} to ${is.version}`)
    if (is.log.length > was.log.length && steps !== 1) lines.push(`I4 the history of ${id} grew without a commit`)
    if (was.log.some((entry, place) => is.log[place] !== entry)) lines.push(`I4 the history of ${id} was changed`)
    if (is.epoch < was.epoch && is.status !== 'terminal') lines.push(`I5 the epoch of ${id} went down`)
  }
  return lines
}

/** I2: an ask ends once. */
function askEndRules(before: Store, after: Store): string[] {
  return Object.entries(before.asks).flatMap(([id, was]) => {
    const is = after.asks[id]
    const isSame = was.state === '' || (is?.state === was.state && is.value === was.value && is.key === was.key)
    return isSame ? [] : [`I2 ask ${id} was ${was.state}, and then ${is?.state ?? 'gone'} once more`]
  })
}

/** I5: only the holder of the token writes, on the version it knows. */
function writerRules(before: Store, call: Call, after: Store): string[] {
  if (call.kind !== 'commit') return []
  const [was, is] = [recordOf(before, call.worker), recordOf(after, call.worker)]
  if (is.version === was.version) return []
  if (was.nonce !== call.token.nonce || was.epoch !== call.token.epoch)
    return [`I5 ${call.worker} was written under token ${call.token.epoch}:${call.token.nonce}, which is not its own`]
  return was.version === call.version ? [] : [`I4 a commit on version ${call.version} was accepted on ${was.version}`]
}

/** Is the worker cancelled, or one that it descends from? The tree tells, not the path in its record. */
function isCancelled(store: Store, ghost: Ghost, id: string): boolean {
  let [worker, run] = [id, recordOf(store, id).run]
  let isAwaited = true
  while (worker !== '') {
    if (ghost.cancelled.includes(`${worker}:*`)) return true
    if (isAwaited && ghost.cancelled.includes(`${worker}:${run}`)) return true
    // A run waits for the first runs of its children alone.
    isAwaited &&= run === 1
    const { parent, parentRun } = recordOf(store, worker)
    worker = parent
    run = parentRun
  }
  return false
}

/** I12: after a cancel nothing below it starts, spawns or commits but its cancelling end. */
function cancelRules(before: Store, ghost: Ghost, call: Call, answer: Answer, after: Store): string[] {
  const lines: string[] = []
  for (const [id, is] of Object.entries(after.workers)) {
    const was = before.workers[id]
    if (was === undefined || !isCancelled(before, ghost, id)) continue
    const isEnd =
      call.kind === 'finish' || (call.kind === 'commit' && call.worker === id && call.outcome === 'cancelled')
    if (is.version > was.version && !isEnd) lines.push(`I12 ${id} committed after it was cancelled`)
  }
  const asker = call.kind === 'answer' && answer.kind === 'ok' ? before.asks[call.ask]?.worker : undefined
  if (asker !== undefined && isCancelled(before, ghost, asker))
    lines.push(`I12 ${asker} was answered after it was cancelled`)
  const claimed = claimedIn(answer)
  if (claimed?.kind !== 'assigned' || claimed.purpose !== 'run') return lines
  const isNew = recordOf(before, claimed.worker).nonce !== claimed.token.nonce
  if (isNew && isCancelled(after, ghost, claimed.worker))
    lines.push(`I12 ${claimed.worker} started after it was cancelled`)
  return lines
}

/** I12, I18: a worker that enters was not cancelled, and overtakes nobody. */
function enterRules(before: Store, ghost: Ghost, call: Call, answer: Answer): string[] {
  if (call.kind !== 'enter' || answer.kind !== 'in' || before.gate.in.includes(call.worker)) return []
  const { nonce, epoch, commit } = recordOf(before, call.worker)
  // A run of this turn has ended, so the turn is answered as it was before.
  if (commit?.nonce === call.token.nonce && commit.epoch === call.token.epoch) return []
  const lines: string[] = []
  if (nonce !== call.token.nonce || epoch !== call.token.epoch)
    lines.push(`I5 ${call.worker} began under another token`)
  if (isCancelled(before, ghost, call.worker)) lines.push(`I12 ${call.worker} began after it was cancelled`)
  if (before.gate.waiting.length > 0) lines.push(`I18 ${call.worker} overtook ${before.gate.waiting.join(', ')}`)
  return lines
}

function claimedIn(answer: Answer): Claimed | null {
  if (answer.kind === 'assigned') return answer
  return 'claimed' in answer ? answer.claimed : null
}

/** A call that comes twice gets the earlier answer and writes nothing, unless the first wrote nothing. */
function duplicateRules(before: Store, call: Call, answer: Answer, after: Store, earlier: Answer | null): string[] {
  if (earlier === null) return []
  const lines: string[] = []
  const wrote = ['committed', 'assigned', 'ok', 'in', 'waits'].includes(earlier.kind)
  if (wrote && JSON.stringify(before) !== JSON.stringify(after)) lines.push(`K11 ${call.kind} was executed twice`)
  if (earlier.kind === 'ok' && (answer.kind !== 'again' || answer.wakeups.join() !== earlier.wakeups.join()))
    lines.push(`K11 ${call.kind} was answered otherwise the second time`)
  if (call.kind === 'commit' && earlier.kind === 'committed')
    lines.push(...commitAgain(before, call, answer, earlier.version))
  if (call.kind === 'enter') lines.push(...enterAgain(before, call, answer, earlier))
  const first = claimedIn(earlier)
  if (first?.kind === 'assigned' && recordOf(before, first.worker).nonce === first.token.nonce) {
    const second = claimedIn(answer)
    const holds =
      second?.kind === 'assigned' && second.worker === first.worker && second.token.epoch === first.token.epoch
    const isLatest = before.assignments[nodeOf(call)]?.nonce === first.token.nonce
    if (isLatest && !holds) lines.push('K11 a claim was assigned otherwise the second time')
  }
  return lines
}

function nodeOf(call: Call): string {
  if (call.kind === 'claim') return call.node
  return call.kind === 'commit' ? call.next.node : ''
}

function commitAgain(before: Store, call: CommitCall, answer: Answer, version: number): string[] {
  const { commit: last, nonce } = recordOf(before, call.worker)
  if (last?.nonce !== call.token.nonce || last.epoch !== call.token.epoch) return []
  if (answer.kind !== 'committed') return ['K11 a commit that was recorded was declined the second time']
  // Once the turn is over, the version may have grown by the end of a cancel: nobody builds on that answer any more.
  const isBuiltOn = nonce === call.token.nonce && last.sequence === call.sequence
  return isBuiltOn && answer.version !== version ? ['K11 a commit got another version'] : []
}

function enterAgain(before: Store, { worker, token }: EnterCall, answer: Answer, earlier: Answer): string[] {
  const { nonce, epoch, commit } = recordOf(before, worker)
  const holds = nonce === token.nonce && epoch === token.epoch
  const waits = commit?.nonce === token.nonce && commit.epoch === token.epoch && commit.sequence === 0
  return (holds || waits) && answer.kind !== earlier.kind
    ? [`K11 enter was answered ${earlier.kind}, and then ${answer.kind}`]
    : []
}

/** Notes what later checks must know. */
function note(ghost: Ghost, before: Store, call: Call, answer: Answer, after: Store): Ghost {
  const accepted = { ...ghost.accepted }
  const starts = { ...ghost.starts }
  const cancelled = [...ghost.cancelled]
  const add = (mark: string) => {
    if (!cancelled.includes(mark)) cancelled.push(mark)
  }
  if (call.kind === 'spawn' && answer.kind === 'ok') accepted[rootId] = [call.mail]
  if (call.kind === 'post' && answer.kind === 'ok')
    accepted[call.worker] = [...(accepted[call.worker] ?? []), call.mail]
  if (call.kind === 'cancel' && answer.kind === 'done') add(`${rootId}:*`)
  const wasWritten =
    call.kind === 'commit' && recordOf(after, call.worker).version > recordOf(before, call.worker).version
  if (wasWritten) {
    delete starts[call.worker]
    for (const { id, mail } of call.spawns) accepted[id] ??= [mail]
    if (call.outcome !== '' && call.pendingCount > 0) add(`${call.worker}:${recordOf(before, call.worker).run}`)
  }
  // A start that comes to the gate has harmed nobody.
  if (call.kind === 'enter' && answer.kind === 'waits' && recordOf(before, call.worker).status === 'running')
    delete starts[call.worker]
  const claimed = claimedIn(answer)
  if (claimed?.kind === 'assigned' && claimed.purpose === 'run') {
    const isNew = recordOf(before, claimed.worker).nonce !== claimed.token.nonce
    if (isNew) starts[claimed.worker] = (starts[claimed.worker] ?? 0) + 1
  }
  const swept = call.kind === 'sweep' && (before.leases.some(({ over }) => over) || isStale(before))
  return { accepted, starts, cancelled, owesWakeups: !hasWakeups(after) && (ghost.owesWakeups || swept) }
}

const isStale = ({ wakeups, busy }: Store): boolean => [...wakeups, ...busy].some(({ over }) => over)

/** The wake-up rule, in words of its own: as many wake-ups out as workers queued, or as there are slots that are not busy. */
export function hasWakeups({ run, wakeups, busy, slots }: Pick<Store, 'run' | 'wakeups' | 'busy' | 'slots'>): boolean {
  return wakeups.filter(({ over }) => !over).length >= Math.min(run.length, Math.max(1, slots - busy.length))
}
