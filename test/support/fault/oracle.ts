/**
 * The oracle of fault tests: the audit of the library, and what holds only at rest. It believes no process: histories, mailboxes and
 * records must agree with each other. What cannot be known from records alone (I6, I12, I15, I17) the tests see by their ledgers.
 */
import type { Redis } from 'ioredis'
import { type AuditReport, audit } from '../../../src/audit/audit.ts'
import { rootIdOf } from '../../../src/core/ids.ts'
import { AuditStore } from '../../../src/store/audit/audit-store.ts'
import { partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { ScriptCaller } from '../../../src/store/script/script.ts'
import { type Snapshot, takeSnapshot } from '../snapshot.ts'
import { waitUntil } from '../time/wait-until.ts'

/** Waits until nothing is queued, running or being cancelled, then checks all. Throws with the first violated lines. */
export async function expectInvariants(redis: Redis, namespace: string, restMsMax = 120_000): Promise<Snapshot> {
  const atRest = await waitUntil(
    'nothing is queued, running or being cancelled',
    async () => {
      const before = await lastEvent(redis, namespace)
      if (!(await isAtRest(redis, namespace))) return false
      const snapshot = await takeSnapshot(redis, namespace)
      // Keys are read one after the other. The snapshot shows one moment only if nothing moved while it was read: a timer may fire in
      // between, and its worker may be at rest again before the second look.
      const isStill = (await isAtRest(redis, namespace)) && before === (await lastEvent(redis, namespace))
      return isStill && snapshot
    },
    restMsMax,
  )
  const broken = [...restRules(atRest), ...(await auditLines(redis, namespace))]
  if (broken.length > 0)
    throw new Error(`${broken.length} violated invariants, the first:\n${broken.slice(0, 5).join('\n')}`)
  return atRest
}

/** The findings of the audit, a line for each; also that every message is accounted for (I16). */
export async function auditLines(redis: Redis, namespace: string): Promise<string[]> {
  const report = await auditOf(redis, namespace)
  const { accepted, ...ends } = report.counts.all
  const known = Object.values(ends).reduce((sum, count) => sum + count, 0)
  const lines = report.findings.map(
    ({ invariant, workerId, sessionId, what }) => `${invariant} worker ${workerId} of session ${sessionId}: ${what}`,
  )
  if (known !== accepted) lines.push(`I16 ${accepted} messages were accepted, ${known} are accounted for`)
  return lines
}

export async function auditOf(redis: Redis, namespace: string): Promise<AuditReport> {
  const store = new AuditStore(redis, new ScriptCaller(redis), partitionKeys(tagOf(namespace, 0)), 0, 10_000)
  return audit([store])
}

/** Every commit that changes how a run stands is followed by an event. */
async function lastEvent(redis: Redis, namespace: string): Promise<string | undefined> {
  const [last] = await redis.xrevrange(partitionKeys(tagOf(namespace, 0)).events, '+', '-', 'COUNT', 1)
  return last?.[0]
}

async function isAtRest(redis: Redis, namespace: string): Promise<boolean> {
  const keys = partitionKeys(tagOf(namespace, 0))
  const pools = new Set(['default', ...(await redis.hvals(keys.kinds)).map((line) => line.split(' ')[0] ?? '')])
  const lengths = await Promise.all([
    redis.zcard(keys.leases),
    redis.scard(keys.cancelling),
    ...[...pools].map((pool) => redis.zcard(keys.run(pool))),
  ])
  return lengths.every((length) => length === 0)
}

/** Returns one line for each violation of what only holds at rest. */
function restRules({ workers, sessions, timers }: Snapshot): string[] {
  const lines: string[] = []
  for (const { id, record } of workers.values()) {
    if (record.status !== 'parked' && timers.some((timer) => timer.startsWith(`${id}:`)))
      lines.push(`I9 a timer is open and worker ${id} is ${record.status}`)
    if (record.status === 'parked' && record.open !== '1' && record.wait !== 'retry' && record.wait !== 'gate')
      lines.push(`I9 worker ${id} is parked without an open run`)
  }
  for (const { id, record } of sessions.values()) {
    if (record.state === 'cancelling') lines.push(`I12 the cancel of session ${id} was never finished`)
    const isOver = record.state === 'completed' || record.state === 'failed'
    const root = workers.get(rootIdOf(id))
    if (isOver && root?.record.status !== 'idle')
      lines.push(`I16 session ${id} ended, its root is ${root?.record.status}`)
  }
  return lines
}
