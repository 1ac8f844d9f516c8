/**
 * Duty: the audit. It checks that every accepted message is accounted for (I16), and that records, histories, mailboxes and sets agree.
 * AUDIT-1 It writes nothing, reads in pages, and asks no worker and no node.
 * AUDIT-2 Two workers are compared only if one script read them at the same moment (a picture).
 * AUDIT-3 It looks at a fault again before it reports it: the fault must stay the same. So a running system gives no finding.
 * AUDIT-4 What it remembers does not grow with what is stored: faults, and what the event stream says, which is bounded.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { preview } from '../core/check/preview.ts'
import { idLength, isWorkerId, sessionIdOfRoot } from '../core/ids.ts'
import { parseNotice } from '../core/webhook/notice.ts'
import { sessionNotFound } from '../core/worker/refusal.ts'
import { type AuditStore, itemsOf } from '../store/audit/audit-store.ts'
import { type Counts, Tally } from './counts.ts'
import { type AuditFinding, damaged, idText, nameOf, type Suspicion, toFinding } from './finding.ts'
import { lostEndedSessions, lostSessions } from './lost-sessions.ts'
import { orphanGuests } from './orphan-guests.ts'
import { RecordWalk } from './record-walk.ts'
import { type Ahead, auditSession } from './session-audit.ts'
import { StreamFacts } from './stream-facts.ts'

export interface AuditReport {
  readonly sessions: number
  readonly workers: number
  /** How many sessions and workers were pruned. */
  readonly removed: { readonly sessions: number; readonly workers: number }
  /** Sessions that had ended before this time, in ms, were not looked at. Absent: all sessions were looked at. */
  readonly since?: number | undefined
  readonly counts: Counts
  readonly findings: readonly AuditFinding[]
}

/** How many sessions and workers the audit has looked at up to now. */
export interface AuditProgress {
  readonly sessions: number
  readonly workers: number
  /** How many sessions there are; absent: that is not known. */
  readonly of?: number | undefined
}

/** What is audited: one session, or a whole namespace; `since`: the sessions that had ended before this time, in ms, are left out. */
export interface AuditScope {
  readonly sessionId?: string | undefined
  readonly since?: number | undefined
}

/** How long the audit waits before it looks at a fault again. */
const againMs = [100, 400, 1_000] as const
/** The first event of a session has the time of its creation, up to this much: the clock was read twice. */
const slackMs = 5_000

export async function audit(
  stores: readonly AuditStore[],
  { sessionId, since }: AuditScope = {},
  onProgress: (progress: AuditProgress) => void = () => {},
): Promise<AuditReport> {
  const tally = new Tally()
  // Lists are joined by literals here. The arguments of push(...list) would have to fit on the stack.
  let findings: AuditFinding[] = []
  const total = { sessions: 0, workers: 0 }
  const removed = { sessions: 0, workers: 0 }
  const walk = new RecordWalk(stores)
  const counts = sessionId === undefined ? await Promise.all(stores.map((store) => store.countSessions(since))) : []
  const of = sessionId === undefined ? counts.reduce((sum, count) => sum + count, 0) : undefined
  for (const store of stores) {
    const before = { ...total }
    const part = new PartitionAudit(store, stores, tally, walk, ({ sessions, workers }) =>
      onProgress({ sessions: before.sessions + sessions, workers: before.workers + workers, of }),
    )
    findings = [...findings, ...(await (sessionId === undefined ? part.everything(since) : part.one(sessionId)))]
    total.sessions += part.sessions
    total.workers += part.workers
    if (sessionId !== undefined || since !== undefined) continue
    const retired = await store.retired()
    tally.remove(retired)
    removed.sessions += retired.sessions
    removed.workers += retired.workers
  }
  return { ...total, removed, ...(since !== undefined && { since }), counts: tally.counts, findings }
}

class PartitionAudit {
  sessions = 0
  workers = 0
  readonly #store: AuditStore
  readonly #stores: readonly AuditStore[]
  readonly #tally: Tally
  readonly #walk: RecordWalk
  readonly #onProgress: (progress: AuditProgress) => void
  /** Workers that exist, but cannot be read. */
  readonly #unread = new Set<string>()
  /** Workers that have a record and belong to no session that is there. */
  #orphans: Promise<readonly string[]> | undefined
  #pools: readonly string[] = []
  #isWhole = true
  #findsOrphans = true

  /** `stores`: those of all partitions. */
  constructor(
    store: AuditStore,
    stores: readonly AuditStore[],
    tally: Tally,
    walk: RecordWalk,
    onProgress: (progress: AuditProgress) => void,
  ) {
    this.#store = store
    this.#stores = stores
    this.#tally = tally
    this.#walk = walk
    this.#onProgress = onProgress
  }

  async one(sessionId: string): Promise<AuditFinding[]> {
    if (isWorkerId(sessionId) || (await this.#store.isOfChild(sessionId))) throw sessionNotFound(sessionId)
    const [createdAt, exists] = await Promise.all([
      this.#store.createdAt(sessionId),
      this.#store.sessionExists(sessionId),
    ])
    this.#isWhole = false
    this.#pools = await this.#store.pools()
    const streams = new StreamFacts(this.#store, (createdAt ?? 0) - slackMs)
    const found = await this.#round(streams, [sessionId])
    const lost = await lostSessions(this.#store, streams, [sessionId])
    const findings = await this.#settle(streams, [...found, ...lost, ...(await this.#around(streams))])
    if (createdAt === null && !exists && !findings.some((one) => one.sessionId === sessionId)) {
      const why = streams.hasEnded(sessionId)
        ? 'it has ended and is gone'
        : 'check the id and the namespace; it may have been pruned'
      throw sessionNotFound(sessionId, why)
    }
    return findings
  }

  /** Sessions that had ended before this time do not change any more. Workers of no session are looked for among all, or not at all. */
  async everything(since?: number): Promise<AuditFinding[]> {
    this.#findsOrphans = since === undefined
    const until = await (since === undefined ? this.#store.newest() : this.#store.now())
    this.#pools = await this.#store.pools()
    const streams = new StreamFacts(this.#store, 0)
    const found = await this.#round(
      streams,
      itemsOf((cursor) => this.#store.sessionIds(cursor, until, since)),
    )
    const lost = await lostSessions(this.#store, streams, streams.created)
    return this.#settle(streams, [...found, ...lost, ...(await this.#around(streams))])
  }

  /** Faults of the partition, and of workers that belong to no session that the audit looked at. */
  async #around(streams: StreamFacts): Promise<Suspicion[]> {
    const keys = damaged(await this.#store.damagedKeys(this.#pools), null, null)
    if (!this.#isWhole) return keys
    return [
      ...keys,
      ...(await this.#lookAtOrphans()),
      ...(await orphanAsks(this.#store)),
      ...(this.#store.partition === 0 ? await orphanGuests(this.#stores) : []),
      ...(await lostEndedSessions(this.#store, streams, streams.created)),
    ]
  }

  /** The first look at these sessions. */
  async #round(streams: StreamFacts, sessionIds: AsyncIterable<string> | Iterable<string>): Promise<Suspicion[]> {
    await streams.catchUp()
    const suspicions: Suspicion[] = []
    const ahead: Ahead[] = []
    for await (const sessionId of sessionIds) {
      const found = await auditSession(this.#store, streams, this.#pools, sessionId)
      if (found.seen.length + found.unread.length > 0) this.sessions++
      this.workers += found.unread.length
      for (const seen of found.seen) {
        this.workers++
        this.#tally.add(seen)
      }
      for (const id of found.unread) this.#unread.add(id)
      suspicions.push(...found.suspicions)
      ahead.push(...found.ahead)
      this.#onProgress({ sessions: this.sessions, workers: this.workers })
    }
    return [...suspicions, ...(await doubled(streams, ahead))]
  }

  /** Looks at each suspicion again, and keeps those that stayed the same each time (AUDIT-3). */
  async #settle(streams: StreamFacts, first: readonly Suspicion[]): Promise<AuditFinding[]> {
    let left = first
    for (const ms of againMs) {
      if (left.length === 0) break
      await pause(ms)
      left = await this.#again(streams, left)
    }
    return left.map(toFinding)
  }

  async #again(streams: StreamFacts, before: readonly Suspicion[]): Promise<Suspicion[]> {
    await streams.catchUp()
    const seen = new Set<string>()
    const left: Suspicion[] = []
    for (const [sessionId, suspicions] of Map.groupBy(before, (one) => one.sessionId)) {
      const names = new Set(suspicions.map(nameOf))
      const again = sessionId === null ? await this.#around(streams) : await this.#lookAgain(streams, sessionId)
      for (const one of again) {
        const name = nameOf(one)
        if (!names.has(name) || seen.has(name)) continue
        seen.add(name)
        left.push(one)
      }
    }
    return left
  }

  async #lookAgain(streams: StreamFacts, sessionId: string): Promise<Suspicion[]> {
    const { suspicions, ahead } = await auditSession(this.#store, streams, this.#pools, sessionId)
    const lost = await lostSessions(this.#store, streams, [sessionId])
    return [...suspicions, ...(await doubled(streams, ahead)), ...lost]
  }

  /** Workers that stand in a set or have a record, and belong to nothing that the audit looked at. */
  async #lookAtOrphans(): Promise<Suspicion[]> {
    const suspicions: Suspicion[] = []
    const say = (invariant: string, rule: string, workerId: string, what: string) =>
      suspicions.push({ invariant, rule, sessionId: null, workerId, what, involved: [workerId] })
    const places = ['leases' as const, 'timers' as const, ...this.#pools.map((pool) => ({ pool }))]
    for (const place of places) {
      const name = typeof place === 'object' ? `the run queue of pool ${place.pool}` : place
      for await (const member of itemsOf((cursor) => this.#store.withoutRecord(place, cursor))) {
        const id = member.slice(0, idLength)
        // Pruning leaves notices of asks and of dead letters. When such a notice is due, a node finds nothing to tell and takes it away.
        if (place === 'timers' && ['ask', 'letter'].includes(String(parseNotice(member)?.of))) continue
        const { missing } = await this.#store.look(null, [id], [], 'count')
        if (missing.length > 0 && (await this.#stands(place, member)))
          say('I7', `orphan-${name}`, id, `${name} names worker ${idText(id)}, which has no record`)
      }
    }
    if (!this.#findsOrphans) return suspicions
    this.#orphans ??= this.#walk.orphans(this.#store)
    for (const id of await this.#orphans) {
      if (this.#unread.has(id)) continue
      const sessionId = (await this.#store.sessionOf(id)) ?? sessionIdOfRoot(id)
      const { missing, session: about, damaged: broken } = await this.#store.look(sessionId, [id], [])
      if (missing.length > 0 || about === null) continue
      for (const { keys } of broken) suspicions.push(...damaged(keys, null, id))
      if (about.damage.length > 0) continue
      if (about.record === null)
        say('I16', 'orphan', id, `worker ${id} is of session ${sessionId}, which has no record`)
      else if (about.isIndexed === false)
        say('I16', 'index', id, `worker ${id} is of session ${sessionId}, which is not in the index`)
    }
    return suspicions
  }

  /** True if the member is in the set after the look that found no record. Pruning takes a worker out of every set before its record goes. */
  async #stands(place: Parameters<AuditStore['members']>[0], member: string): Promise<boolean> {
    for await (const one of itemsOf((cursor) => this.#store.members(place, cursor))) if (one === member) return true
    return false
  }
}

// I9: an ask in the inbox is open. If it ended before this read, it has left the inbox, too: both change in one script.
async function orphanAsks(store: AuditStore): Promise<Suspicion[]> {
  const found: Suspicion[] = []
  for await (const ask of itemsOf((cursor) => store.inbox(cursor))) {
    const orphan = await store.orphanAsk(ask)
    if (orphan === null) continue
    const { workerId, state } = orphan
    const why =
      workerId === null ? 'has no record' : state === null ? 'is not open' : `its record says ${preview(state)}`
    const what = `ask ${idText(ask)} is in the inbox and ${why}`
    found.push({ invariant: 'I9', rule: `orphan-${ask}`, sessionId: null, workerId, what, involved: [] })
  }
  return found
}

// I2: more messages came from outside than the event stream says that the worker accepted, also after the stream was read again.
async function doubled(streams: StreamFacts, ahead: readonly Ahead[]): Promise<Suspicion[]> {
  if (ahead.length === 0) return []
  await streams.catchUp()
  return ahead.flatMap(({ sessionId, workerId, came }) => {
    const accepted = streams.accepted(sessionId, workerId) as number
    if (came <= accepted) return []
    const what = `it accepted ${accepted} messages from outside, and ${came} are in its history and mailbox`
    return [{ invariant: 'I2', rule: 'accepted', sessionId, workerId, what, involved: [workerId] }]
  })
}
