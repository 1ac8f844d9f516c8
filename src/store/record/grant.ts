/**
 * Duty: a grant as the claim scripts give it: the record as it was before the claim, and the mail that may be received now.
 * A field that is absent has its value from the start (lua/shared/records.lua).
 */
import { defaultPool, sessionIdOfRoot } from '../../core/ids.ts'
import { decodeLimits } from '../../core/policy.ts'
import type { Grant } from '../../core/ports/ports.ts'
import { decodeMail, type Lane, type Mail } from '../../core/worker/message.ts'
import { decodeRunState } from '../../core/worker/run-state.ts'
import { decodeGrant as decodeWorkerGrant, isGrantText, type WorkerGrant } from '../../core/worker/worker-grant.ts'
import { toFields } from '../script/replies.ts'
import type { Reply } from '../script/script.ts'
import { decodeCalls } from './call-ranges.ts'
import { readRecord } from './record-fields.ts'
import { decodeSpendings } from './spending.ts'

/** Null: a lane that nothing may be received from now. */
type GrantReply = [
  tag: 'grant',
  workerId: string,
  mark: Grant['mark'],
  token: string,
  suspect: '0' | '1',
  /** Names and values in turn, joined by zero bytes. */
  record: string,
  state: string,
  control: string[] | null,
  family: string[] | null,
  user: string[] | null,
  awaited: [place: string, text: string] | null,
  spent: string | null,
  caps: string | null,
]

export function decodeGrant(reply: Reply, trustedUntil: number): Grant {
  const [, workerId, mark, token, suspect, fields, state, control, family, user, awaited, spent, caps] =
    reply as GrantReply
  const record = readRecord(toFields(fields.split('\0')))
  const number = (name: string, absent = 0) => Number(record[name] ?? absent)
  const kind = record.kind as string
  const run = number('run', 1)
  const parentId = record.parent ?? null
  const parentRun = record.parentRun === undefined || record.parentRun === '-' ? null : Number(record.parentRun)
  const epoch = Number(token.slice(0, token.indexOf(':')))
  return {
    workerId,
    mark,
    token,
    epoch,
    suspect: suspect === '1',
    sessionId: record.session ?? sessionIdOfRoot(workerId),
    parentId,
    isJob: parentId === null && record.mode !== 'conversation',
    parentRun,
    call: parentRun !== null && run === 1 ? number('call') : null,
    kind,
    name: record.name as string,
    pool: record.pool ?? defaultPool,
    depth: number('depth'),
    limits: decodeLimits(record.limits),
    spending: decodeSpendings(spent, caps),
    allowed: allowedBy(record.grant),
    run,
    open: record.open === '1',
    runState: decodeRunState(record.runState ?? 'Idle').run,
    version: number('version'),
    starts: epoch - epochOfCommit(record.commit),
    crashes: number('crashes'),
    ...decodeAttempt(record.attempt),
    calls: number('calls'),
    awaits: decodeCalls(record.awaits ?? ''),
    timersOpen: number('timersOpen'),
    stateJson: state === '' ? null : state,
    commitId: record.commit ?? '',
    familyTaken: number('family'),
    familySeen: number('family') + (family?.length ?? 0),
    mail: {
      control: mails('control', number('control'), control ?? []),
      family: [
        ...mails('family', number('family'), family ?? []),
        ...(awaited === null ? [] : mails('family', number('family') + Number(awaited[0]), [awaited[1]])),
      ],
      user: mails('user', number('user'), user ?? []),
    },
    trustedUntil,
  }
}

/** Of a text over which somebody wrote, or of a newer troupe, nobody here knows what it keeps from the worker: then it may use nothing. */
function allowedBy(text: string | undefined): WorkerGrant {
  if (text === undefined) return {}
  return isGrantText(text) ? decodeWorkerGrant(text) : { tools: [], kinds: [] }
}

/** "<tries> <what>" of each (`Grant.retrying`), or nothing. */
function decodeAttempt(text = '0'): Pick<Grant, 'attempt' | 'retrying'> {
  const [attempt, ...retrying] = text.split(' ')
  return { attempt: Number(attempt), retrying: retrying.join(' ') }
}

/** The id of a commit is `<epoch>:<nonce>:<sequence>`. */
function epochOfCommit(commit: string | undefined): number {
  return commit === undefined ? 0 : Number(commit.slice(0, commit.indexOf(':')))
}

/** A consumed mail in the middle of the family lane is an empty string until all before it are consumed. */
function mails(lane: Lane, base: number, texts: readonly string[]): Mail[] {
  const found: Mail[] = []
  for (const [index, text] of texts.entries()) {
    if (text !== '') found.push(decodeMail(lane, base + index, text))
  }
  return found
}
