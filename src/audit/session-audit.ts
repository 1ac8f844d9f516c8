/**
 * Duty: audit one session: take pictures of its workers, read the history of each up to the moment of its picture, and apply the rules.
 * GROUP-1 A session of up to `groupMost` workers is one picture. A larger one has a picture for each group of that size.
 */
import { decodeEntry } from '../core/history/entry.ts'
import { rootIdOf } from '../core/ids.ts'
import type { Picture, SessionPicture, WorkerPicture } from '../store/audit/audit-picture.ts'
import { type AuditStore, itemsOf } from '../store/audit/audit-store.ts'
import { damageText } from '../store/record/field.ts'
import { encodeResultLine, isOfSession } from '../store/record/session-record.ts'
import { damaged, nameOf, type Suspicion, sayOf } from './finding.ts'
import { HistoryFold } from './history-fold.ts'
import { historyPages } from './history-pages.ts'
import { arrivals, groupRules } from './session-rules.ts'
import type { StreamFacts } from './stream-facts.ts'
import { isAgent, type Seen, workerRules } from './worker-rules.ts'

/** The number of workers that a session has at most by default. */
const groupMost = 200
/** How many histories are read at the same time. */
const readersMost = 8

export interface Ahead {
  readonly sessionId: string
  readonly workerId: string
  readonly came: number
}

export interface SessionAudit {
  readonly suspicions: readonly Suspicion[]
  readonly seen: readonly Seen[]
  /** Workers that exist, but cannot be read. No rule is applied to them. */
  readonly unread: readonly string[]
  /** Workers with more messages from outside than the stream had events for. They are compared again after the stream was read again. */
  readonly ahead: readonly Ahead[]
}

export async function auditSession(
  store: AuditStore,
  streams: StreamFacts,
  pools: readonly string[],
  sessionId: string,
): Promise<SessionAudit> {
  const found: Found = { suspicions: [], ahead: [], unread: new Set() }
  const rest = await Array.fromAsync(itemsOf((cursor) => store.memberIds(sessionId, cursor)))
  const members = [rootIdOf(sessionId), ...rest]
  const ids = [...new Set(members)]
  if (ids.length < members.length)
    sayOf(found.suspicions, sessionId, null)('I8', 'twice', `session ${sessionId} lists a worker twice`)
  const groups: (readonly Seen[])[] = []
  const look = (some: readonly string[]) => auditGroup(store, streams, pools, sessionId, some, found)
  for (let from = 0; from < ids.length; from += groupMost) groups.push(await look(ids.slice(from, from + groupMost)))
  for (const [one, others] of relationsAcross(groups))
    for (let from = 0; from < others.length; from += groupMost - 1)
      await look([one, ...others.slice(from, from + groupMost - 1)])
  // Of several suspicions with one name the first is kept: the others may follow from it.
  const named = new Map(found.suspicions.toReversed().map((one) => [nameOf(one), one]))
  return {
    suspicions: [...named.values()].toReversed(),
    seen: groups.flat(),
    unread: [...found.unread],
    ahead: found.ahead,
  }
}

interface Found {
  readonly suspicions: Suspicion[]
  readonly ahead: Ahead[]
  readonly unread: Set<string>
}

async function auditGroup(
  store: AuditStore,
  streams: StreamFacts,
  pools: readonly string[],
  sessionId: string,
  ids: readonly string[],
  { suspicions, ahead, unread }: Found,
): Promise<readonly Seen[]> {
  const picture = await store.look(sessionId, ids, pools)
  const session = formed(picture.session as SessionPicture)
  // Damage of the root's record is reported once, in the group of the root.
  const root = rootIdOf(sessionId)
  if (ids.includes(root)) {
    const ofRoot = picture.damaged.find(({ id }) => id === root)?.keys ?? []
    const ofSession = session.damage.filter((what) => !ofRoot.includes(what))
    suspicions.push(...damaged(ofSession, sessionId, null))
  }
  const workers = readable(picture, sessionId, suspicions, unread)
  const group = await readGroup(store, workers, session, suspicions)
  for (const one of group.values()) {
    workerRules(one)
    streamRules(one, streams, ahead)
  }
  // The next audit sees children that were spawned after the list was read.
  const isWhole =
    session.damage.length === 0 && group.size === session.listed + 1 && (session.record?.retired ?? 0) === 0
  const { missing, brokenPermissions } = picture
  groupRules({ session, seen: group, missing, brokenPermissions, isWhole }, suspicions)
  await resultRules(store, sessionId, group.get(root), session)
  return [...group.values()]
}

/** Pairs of workers in different pictures: a parent and its child, or a sender and its recipient. */
function relationsAcross(groups: readonly (readonly Seen[])[]): Map<string, string[]> {
  const groupOf = new Map(groups.flatMap((group, number) => group.map(({ picture }) => [picture.id, number] as const)))
  const found = new Map<string, string[]>()
  for (const [number, group] of groups.entries())
    for (const { picture, fold } of group) {
      const others = [...fold.sent.keys()].filter((id) => groupOf.has(id) && groupOf.get(id) !== number)
      if (others.length > 0) found.set(picture.id, others)
    }
  return found
}

function formed(session: SessionPicture): SessionPicture {
  // What is damaged in the root as a worker is reported with the root.
  const malformed = session.fieldDamage.filter(isOfSession)
  const where = `the record of session ${session.id}`
  return { ...session, damage: [...session.damage, ...malformed.map((one) => damageText(one, where))] }
}

/** Reports damaged workers, and returns the others. */
function readable(picture: Picture, sessionId: string, found: Suspicion[], unread: Set<string>): WorkerPicture[] {
  const malformed = picture.workers.map(({ id, fieldDamage }) => ({
    id,
    keys: fieldDamage.map((one) => damageText(one, 'its record')),
  }))
  for (const { id, keys } of [...picture.damaged, ...malformed]) {
    if (keys.length === 0) continue
    unread.add(id)
    found.push(...damaged(keys, sessionId, id))
  }
  return picture.workers.filter(({ id }) => !unread.has(id))
}

async function readGroup(
  store: AuditStore,
  workers: readonly WorkerPicture[],
  session: SessionPicture,
  found: Suspicion[],
): Promise<Map<string, Seen>> {
  const group = new Map<string, Seen>()
  const originals = session.record?.forkedFrom ? await store.originals(session.id) : {}
  const waiting = [...workers]
  const read = async () => {
    for (let worker = waiting.shift(); worker !== undefined; worker = waiting.shift()) {
      const own: Suspicion[] = []
      const seen = await readWorker(store, worker, session, own, originals)
      if (seen === null) continue
      group.set(worker.id, { ...seen, say: sayOf(found, session.id, worker.id) })
      found.push(...own)
    }
  }
  await Promise.all(Array.from({ length: Math.min(readersMost, waiting.length) }, read))
  return group
}

/** Null if the worker was pruned meanwhile. */
async function readWorker(
  store: AuditStore,
  picture: WorkerPicture,
  session: SessionPicture,
  found: Suspicion[],
  originals: Readonly<Record<string, string>>,
): Promise<Seen | null> {
  const say = sayOf(found, session.id, picture.id)
  const fold = new HistoryFold(say, isAgent(picture), (id) => originals[id] ?? id)
  let position = 0
  for await (const page of historyPages(store, picture.id, picture.historyLength))
    for (const json of page) fold.add(position++, decodeEntry(json))
  if (position < picture.historyLength) return null
  return { picture, fold, session, say }
}

// I1, I2: as many messages came from outside as the event stream says. Every message that was put aside is a dead letter.
function streamRules(seen: Seen, streams: StreamFacts, ahead: Ahead[]): void {
  const { picture, fold, session, say } = seen
  const accepted = streams.accepted(session.id, picture.id)
  const came = arrivals(seen, null)
  if (accepted !== null && came !== null && came < accepted)
    say('I1', 'accepted', `it accepted ${accepted} messages from outside, and ${came} are in its history and mailbox`)
  if (accepted !== null && came !== null && came > accepted)
    ahead.push({ sessionId: session.id, workerId: picture.id, came })
  // Letters about messages that were put aside before a copy was made belong to its original.
  const isCopy = session.record?.forkedFrom != null
  const dead = isCopy ? null : streams.dead(picture.id)
  if (dead !== null && dead !== fold.deadRuns)
    say(
      dead < fold.deadRuns ? 'I1' : 'I2',
      'dead',
      `${fold.deadRuns} of its messages were put aside, ${dead} are among the dead letters`,
    )
}

// I16: the session has the result of each run of its root.
async function resultRules(store: AuditStore, sessionId: string, root: Seen | undefined, session: SessionPicture) {
  if (root === undefined || session.record === null || session.damage.length > 0) return
  const { fold, say } = root
  const last = session.record.end?.result
  const runs = fold.runs.filter((one) => one.run !== last?.run)
  for (let from = 0; from < runs.length; from += 500) {
    const page = runs.slice(from, from + 500)
    const results = await store.results(
      sessionId,
      page.map((one) => one.run),
    )
    for (const [index, one] of page.entries()) {
      if (results[index] !== encodeResultLine(one))
        say(
          'I16',
          `result-${one.run}`,
          `run ${one.run} is ${one.status} at position ${one.position} of its history, and session ${sessionId} says ${results[index] ?? 'nothing'}`,
        )
    }
  }
  if (last == null) return
  const { run, status, position } = last
  const known = fold.runs.find((one) => one.run === run)
  if (known?.status !== status || known.position !== position)
    say(
      'I16',
      'end',
      `session ${sessionId} ended as ${status} with run ${run} at position ${position}, which its history does not hold`,
    )
}
