/**
 * Duty: make the hash that binds an approval to one call: what runs is what was approved.
 * APPROVAL-HASH-1 Equal calls have equal hashes, whatever the order of the fields in their arguments. Any other difference gives another hash.
 */
import { hash } from 'node:crypto'

export interface HashedCall {
  readonly tool: string
  /** The hash of the tool's schema, by `schemaHash`. */
  readonly schemaHash: string
  readonly workerId: string
  readonly toolCallId: string
  /** JSON, as the model or a person wrote it. */
  readonly arguments: unknown
}

/** SHA-256 in hex. */
export function approvalHash({ tool, schemaHash, workerId, toolCallId, arguments: args }: HashedCall): string {
  return hash('sha256', canonicalJson({ tool, schemaHash, workerId, toolCallId, arguments: args }))
}

/** `inputSchema`: JSON Schema of the arguments, as models get it. */
export function schemaHash(inputSchema: unknown): string {
  return hash('sha256', canonicalJson(inputSchema))
}

/**
 * The JSON of a value in the canonical form of RFC 8785: no blanks, and fields ordered by the UTF-16 units of their names. Numbers and texts are
 * written by JSON.stringify, whose form is the one of that RFC; the half of a surrogate pair is written as an escape, not refused.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const fields = value as Readonly<Record<string, unknown>>
  const names = Object.keys(fields)
    .filter((name) => fields[name] !== undefined)
    .sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(fields[name])}`).join(',')}}`
}
