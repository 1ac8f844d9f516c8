/** Duty: the audits that somebody has recorded for monitors: keeping one, and beginning where the last one began. */
import type { AuditReport } from '../audit/audit.ts'
import { isOfMessages } from '../audit/finding.ts'
import type { InspectStore } from '../store/audit/inspect-store.ts'
import { keepLastAudit } from '../store/audit/last-audit.ts'
import { guarded } from '../store/redis/guarded.ts'
import type { Redis } from '../store/redis/redis.ts'
import type { AuditQuery } from './queries.ts'

/** From when an audit looks at what has ended; undefined: at all of it. After one with findings all is looked at again, until they are mended. */
export async function sinceOf(store: InspectStore, since: AuditQuery['since']): Promise<number | undefined> {
  if (since !== 'last') return since
  const last = await store.lastAudit()
  return last === null || last.findings > 0 ? undefined : last.at
}

/** `at`: when it began. What has changed since then the next one looks at. */
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
