/** Duty: keep an audit that somebody records for monitors, and begin the next one where the last one began. */
import type { AuditReport } from '../audit/audit.ts'
import { isOfMessages } from '../audit/finding.ts'
import type { InspectStore } from '../store/audit/inspect-store.ts'
import { keepLastAudit } from '../store/audit/last-audit.ts'
import { guarded } from '../store/redis/guarded.ts'
import type { Redis } from '../store/redis/redis.ts'
import type { AuditQuery } from './queries.ts'

/**
 * The time since which sessions must have ended to be looked at again; undefined: all sessions are looked at. After an audit with findings, all
 * sessions are looked at again, until the findings are mended.
 */
export async function sinceOf(store: InspectStore, since: AuditQuery['since']): Promise<number | undefined> {
  if (since !== 'last') return since
  const last = await store.lastAudit()
  return last === null || last.findings > 0 ? undefined : last.at
}

/** `at`: when the audit began. The next audit looks at what has changed since then. */
export async function recordAudit(
  redis: Redis,
  namespace: string,
  { findings }: AuditReport,
  at: number,
  deadlineMs: number,
): Promise<void> {
  const found = { at, unaccounted: findings.filter(isOfMessages).length, findings: findings.length }
  await guarded('recording the audit', () => keepLastAudit(redis, namespace, found), deadlineMs)
}
