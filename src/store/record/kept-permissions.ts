/**
 * Duty: permissions as records name them: those of over 64 bytes are kept by their session, under a digest of their text.
 * KEPT-PERMISSIONS-1 Permissions that their session has lost stay a name, which permits nothing. lua/shared/record/permissions.lua has the same form.
 */
import { hash } from 'node:crypto'
import { keptPermissions } from '../../core/worker/permissions.ts'
import { type PartitionKeys, sessionKeys } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { fieldsNamed, orElse, type RecordFields } from '../script/replies.ts'
import { sessionOfRecord } from './worker-record.ts'

const bytesMost = 64
/** Each text may have tens of kilobytes. */
const textsAtOnce = 50

/** What a record has for this text: the text itself, or `@` and its digest. */
export function permissionsName(text: string): string {
  return Buffer.byteLength(text) <= bytesMost ? text : `@${hash('sha1', text)}`
}

/** The digest by which a record names its permissions; null if it has them itself, or has none. */
function permissionsDigest({ permissions = '' }: RecordFields): string | null {
  return keptPermissions.exec(permissions)?.[1] ?? null
}

/** The same record with the text of its permissions; `kept`: what its session keeps. */
function withPermissions(fields: RecordFields, kept: RecordFields): RecordFields {
  const text = kept[permissionsDigest(fields) ?? '']
  return text === undefined ? fields : { ...fields, permissions: text }
}

/** The same records with the texts of their permissions. Each session is asked once, and only for the permissions that records name. */
export async function readPermissions<Fields extends RecordFields | undefined>(
  redis: Redis,
  keys: PartitionKeys,
  records: readonly { readonly id: string; readonly fields: Fields }[],
): Promise<readonly (Fields | RecordFields)[]> {
  const named = new Map<string, Set<string>>()
  for (const { id, fields } of records) {
    const digest = fields && permissionsDigest(fields)
    if (!digest) continue
    const session = sessionOfRecord(id, fields)
    named.set(session, (named.get(session) ?? new Set()).add(digest))
  }
  if (named.size === 0) return records.map(({ fields }) => fields)
  const kept = new Map<string, RecordFields>()
  await Promise.all(
    [...named].map(async ([session, digests]) => {
      const names = [...digests]
      const texts: Record<string, string> = {}
      for (let from = 0; from < names.length; from += textsAtOnce) {
        const some = names.slice(from, from + textsAtOnce)
        const found = await orElse(redis.hmget(sessionKeys(keys.tag, session).permissions, ...some), [])
        Object.assign(texts, fieldsNamed(some, found))
      }
      kept.set(session, texts)
    }),
  )
  return records.map(({ id, fields }) => fields && withPermissions(fields, kept.get(sessionOfRecord(id, fields)) ?? {}))
}
