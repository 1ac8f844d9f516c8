/**
 * Records and sessions as tests speak of them. Scripts store only what differs from the start, and derive some facts from others;
 * here every fact has a name and a value, so that a test need not know how it is kept. A test leaves out each fact that has its starting value.
 */
import { decodeEvents } from '../../../src/core/event/event-notes.ts'
import { rootIdOf, sessionIdOfRoot } from '../../../src/core/ids.ts'
import { namedFields } from '../../support/record-fields.ts'

type Fields = Readonly<Record<string, string>>

const workerStart: Fields = {
  pool: 'default',
  mode: 'job',
  depth: '0',
  run: '1',
  open: '0',
  runState: 'Idle',
  wait: 'any',
  version: '0',
  signals: '0',
  results: '0',
  inbox: '0',
  attempt: '0',
  calls: '0',
  pendingCalls: '',
  signalsOpen: '0',
  steps: '0',
  isolated: '0',
  crashes: '0',
  failed: '0',
  wakeups: '',
  data: '',
}

/** What a root's record says of its session. */
const ofSession = new Set(
  'ended workers cancelCount endFrom retired resting cancel caps spent paused approval startWakeups'.split(' '),
)

/** How a record is kept; it is not a fact of its own. */
const hidden = new Set([
  'schema',
  'token',
  'commit',
  'node',
  'history',
  'queuedAt',
  'score',
  'turnUs',
  'turnShare',
  'closed',
  ...ofSession,
])

/**
 * Facts of its own: `holder` is the nonce of the claim that holds it; `epoch` how often it was claimed; `starts` how often since
 * the last commit; `committed` the last commit as nonce and sequence.
 */
export function workerView(id: string, stored: Fields): Record<string, string> {
  const fields = namedFields(stored)
  const token = /^(\d+):(.*)$/.exec(fields.token ?? '')
  const commit = /^(\d+):(.*)$/.exec(fields.commit ?? '')
  const committedEpoch = Number(commit?.[1] ?? 0)
  const epoch = Math.max(Number(token?.[1] ?? 0), committedEpoch, Number(fields.epoch ?? 0))
  const view: Record<string, string> = {
    ...workerStart,
    session: sessionIdOfRoot(id),
    name: fields.kind ?? '',
    epoch: String(epoch),
    starts: fields.starts ?? String(epoch - committedEpoch),
    holder: token?.[2] ?? '',
    // An end that a sweep brought to one that had committed nothing is nobody's.
    committed: commit?.[2] === ':0' ? '' : (commit?.[2] ?? ''),
  }
  for (const [name, value] of Object.entries(fields)) if (!hidden.has(name)) view[name] = value
  return view
}

/**
 * What its root's record and its own keys say of a session: whether it was asked to end, and how it ended, with status, time, run and
 * place of the result in one field. `wake-ups`: those its creation answered.
 */
export function sessionView(id: string, root: Fields, results: Fields = {}): Record<string, string> {
  const {
    ended = '',
    startWakeups = '',
    ...facts
  } = Object.fromEntries(Object.entries(root).filter(([name]) => ofSession.has(name)))
  const [state = '', finished = '', run, position] = ended.split(' ')
  return {
    root: rootIdOf(id),
    workers: '1',
    wakeups: startWakeups,
    ...facts,
    ...Object.fromEntries(Object.entries(results).map(([number, line]) => [`result:${number}`, line])),
    state: state || (facts.cancel === undefined ? 'active' : 'cancelling'),
    ...(finished ? { finished } : {}),
    ...(run ? { [`result:${run}`]: `${state} ${position}` } : {}),
  }
}

/** One entry of the event stream: a line for each event. */
export function eventLines(id: string, parts: readonly [about: string, notes: string][]): string[] {
  const events = parts.flatMap(([about, notes]) => decodeEvents(id, about, notes))
  return events.map(({ type, workerId, details, ended }) =>
    [type, workerId, ...said(details), ...(ended?.position == null ? [] : [`at ${ended.position}`])].join(' '),
  )
}

function said(details: object): string[] {
  return Object.keys(details).length > 0 ? [JSON.stringify(details)] : []
}
