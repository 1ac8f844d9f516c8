/**
 * Duty: the record of an endpoint: an address that is told of what happens in a namespace. It holds the secrets with which requests are signed.
 * ENDPOINT-1 No error, no log and no answer holds a secret or the record; only the call that makes a secret hands it out, once.
 */
import { isObject } from '../check/is-object.ts'
import { fromJson } from '../json.ts'
import { addressProblem } from '../worker/notify.ts'
import { type NoticeType, noticeTypes } from './notice.ts'

/** `ids`: what happened, when, and to which session. `result`: also the result, the question, the evidence. */
export const includes = ['ids', 'result'] as const
export type Include = (typeof includes)[number]

interface OldSecret {
  readonly secret: string
  /** Requests are signed with it until then, in ms since 1970. */
  readonly until: number
}

export interface EndpointRecord {
  readonly url: string
  readonly types: readonly NoticeType[]
  /** Only sessions of these kinds; null: of all. */
  readonly kinds: readonly string[] | null
  /** Only sessions with these names; null: with any. */
  readonly names: readonly string[] | null
  readonly include: Include
  readonly secret: string
  /** The secrets before it, the newest first. Nobody knows which of them its receiver has. */
  readonly previous: readonly OldSecret[]
  readonly isEnabled: boolean
  readonly createdAt: number
  readonly createdBy: string | null
  /** When it was last enabled, disabled or given another secret, and by whom; null: never. */
  readonly changedAt: number | null
  readonly changedBy: string | null
}

export function encodeEndpoint(record: EndpointRecord): string {
  return JSON.stringify(record)
}

/** Null for a text that another program wrote. */
export function decodeEndpoint(text: string): EndpointRecord | null {
  const value = fromJson(text) as Partial<EndpointRecord> | undefined
  if (!isObject(value) || addressProblem(value.url) !== null || typeof value.secret !== 'string') return null
  const { types, previous } = value
  const known = Array.isArray(types) ? noticeTypes.filter((type) => types.includes(type)) : []
  return {
    url: value.url as string,
    types: known,
    kinds: texts(value.kinds),
    names: texts(value.names),
    include: value.include === 'result' ? 'result' : 'ids',
    secret: value.secret,
    // A record that was written before an endpoint could have several has one, or null.
    previous: [previous].flat().filter(isOldSecret),
    isEnabled: value.isEnabled === true,
    createdAt: Number(value.createdAt) || 0,
    createdBy: textOr(value.createdBy),
    changedAt: typeof value.changedAt === 'number' ? value.changedAt : null,
    changedBy: textOr(value.changedBy),
  }
}

function textOr(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function texts(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.every((text) => typeof text === 'string') ? value : null
}

function isOldSecret(value: unknown): value is OldSecret {
  return isObject(value) && typeof value.secret === 'string' && typeof value.until === 'number'
}

/** The secrets with which a request is signed at this moment. */
export function secretsAt({ secret, previous }: EndpointRecord, now: number): string[] {
  return [secret, ...previous.filter(({ until }) => until > now).map((old) => old.secret)]
}

/** Whether the endpoint wants to be told of this. */
export function wants(
  { types, kinds, names }: EndpointRecord,
  { type, kind, name }: { readonly type: NoticeType; readonly kind: string; readonly name: string },
): boolean {
  return types.includes(type) && (kinds?.includes(kind) ?? true) && (names?.includes(name) ?? true)
}
