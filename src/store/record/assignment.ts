/**
 * Duty: read what a claim answers, alone or at the end of a commit. An assignment holds the record as it was before the claim, the mail that
 * the worker may receive now, and the spending of its session.
 */
import { InvariantError } from '../../core/errors.ts'
import { allowedForm, decodeSpending, defaultSpending, spentForm } from '../../core/policy.ts'
import type { Assignment, ClaimAnswer, SessionSpending } from '../../core/ports/ports.ts'
import { decodeApproval, defaultApproval, type SessionApproval } from '../../core/worker/ask/session-approval.ts'
import { decodeMail, isHeadAlone, type Lane, type Mail } from '../../core/worker/message/message.ts'
import { commonPermissions } from '../../core/worker/permissions.ts'
import { toFields } from '../script/replies.ts'
import type { Reply } from '../script/script.ts'
import { decodeRecord, epochIn, readPermissions, type WorkerRecord } from './worker-record.ts'

/** A lane is null if the worker may receive nothing from it now. */
type AssignmentReply = [
  tag: 'assigned',
  workerId: string,
  purpose: Assignment['purpose'],
  token: string,
  suspect: '0' | '1',
  /** Names and values of the record in turn, joined by zero bytes. */
  record: string,
  state: string,
  signals: string[] | null,
  results: string[] | null,
  inbox: string[] | null,
  /** Where large results stand among the results. */
  large: string[] | null,
  spent: string | null,
  caps: string | null,
  /** Permissions of the worker whose message began the run, or whose messages begin the runs of this turn. */
  limited?: string | null,
  approval?: string | null,
]

export function decodeClaim(reply: Reply | null, trustedUntil: number): ClaimAnswer {
  if (reply === null) return { kind: 'none' }
  const tag = reply[0]
  if (tag === 'empty' || tag === 'unfit' || tag === 'later') return { kind: tag }
  if (tag !== 'assigned') throw new InvariantError(`claim answered ${JSON.stringify(tag)}`)
  return { kind: 'assigned', assignment: decodeAssignment(reply, trustedUntil) }
}

export function decodeAssignment(reply: Reply, trustedUntil: number): Assignment {
  const [
    ,
    workerId,
    purpose,
    token,
    suspect,
    fields,
    state,
    signals,
    results,
    inbox,
    large,
    spent,
    caps,
    limited,
    approval,
  ] = reply as AssignmentReply
  const record = decodeRecord(workerId, toFields(fields.split('\0')))
  const { run, parentId, parentRun, resultsTaken } = record
  const mail = mailOf(record, { signals, results, inbox })
  return {
    workerId,
    purpose,
    token,
    epoch: epochIn(token),
    suspect: suspect === '1',
    sessionId: record.sessionId as string,
    parentId,
    isJob: parentId === null && record.mode === 'job',
    parentRun,
    call: parentRun !== null && run === 1 ? record.call : null,
    kind: record.kind,
    name: record.name,
    pool: record.pool,
    depth: record.depth,
    limits: record.limits,
    spending: decodeSpendings(spent, caps),
    approval: readApproval(approval),
    permissions: commonPermissions(record.permissions ?? {}, limited == null ? null : readPermissions(limited)),
    run,
    open: record.isOpen,
    runState: record.runState.run,
    version: record.lastCommit.version,
    // The record is as it was before this claim.
    starts: epochIn(token) - epochIn(record.lastCommit.id),
    crashes: record.crashes,
    notifies: /\0notify\0/.test(fields),
    queuedAt: record.queuedAt,
    lastWords: record.lastWords,
    ...record.attempts,
    calls: record.calls,
    pendingCalls: record.pendingCalls,
    signalsOpen: record.signalsOpen,
    steps: record.steps,
    stateJson: state === '' ? null : state,
    begunRun: record.begunRun,
    isDryRun: record.copied === 'dry',
    commitId: record.lastCommit.id,
    resultsTaken,
    resultsSeen: resultsTaken + seenIn(results ?? []),
    largeResults:
      large == null ? undefined : callsAt(new Set(large.map((place) => resultsTaken + Number(place))), mail.results),
    mail,
    steered: record.steered,
    configured: record.configured,
    gates: record.gates,
    trustedUntil,
  }
}

function mailOf(
  { signalsTaken, resultsTaken, inputsTaken }: WorkerRecord,
  { signals, results, inbox }: Record<Lane, string[] | null>,
): Assignment['mail'] {
  return {
    signals: mails('signals', signalsTaken, signals ?? []),
    results: mails('results', resultsTaken, results ?? []),
    inbox: mails('inbox', inputsTaken, inbox ?? []),
  }
}

/** What was taken before an earlier mail stays in the lane as an empty text until the earlier ones are taken. */
function mails(lane: Lane, base: number, texts: readonly string[]): Mail[] {
  const found: Mail[] = []
  for (const [index, text] of texts.entries()) {
    if (text !== '' && !isHeadAlone(lane, text)) found.push(decodeMail(lane, base + index, text))
  }
  return found
}

/** How many of these results are complete: those before the first that is only a head. */
function seenIn(results: readonly string[]): number {
  const first = results.findIndex((text) => isHeadAlone('results', text))
  return first < 0 ? results.length : first
}

function callsAt(positions: ReadonlySet<number>, results: readonly Mail[]): ReadonlyMap<number, number> {
  const calls = new Map<number, number>()
  for (const { position, message } of results)
    if (message.kind === 'result' && positions.has(position)) calls.set(position, message.call)
  return calls
}

/** Nearly all sessions have these values: an agent that is alone keeps the count in its own record. */
const silent: SessionSpending = { spent: null, allowed: defaultSpending }

/**
 * What a session has used and what it may use, as texts, or absent. A damaged text is read as absent: as a limit it would be no number, and no
 * session would ever reach it. The audit names it.
 */
export function decodeSpendings(spent?: string | null, caps?: string | null): SessionSpending {
  if (!spent && !caps) return silent
  return {
    spent: spent && spentForm.test(spent) ? decodeSpending(spent) : null,
    allowed: caps && allowedForm.test(caps) ? decodeSpending(caps) : defaultSpending,
  }
}

/** What a session says of approvals. A damaged text is read as absent; the audit names it. */
export function readApproval(text: string | null | undefined): SessionApproval {
  return text ? (decodeApproval(text) ?? defaultApproval) : defaultApproval
}
