/**
 * Duty: a worker's record as readers see it: with a name for each fact that it holds within others, as `readRecord` in
 * lua/shared/records.lua gives them to scripts. Of what somebody wrote over, such a fact is missing.
 */

import { defaultName } from '../../core/definition/worker-name.ts'
import { idLength, sessionIdOfRoot } from '../../core/ids.ts'
import type { RecordFields } from '../script/replies.ts'

const commitForm = /^(?<commit>.*):(?<version>\d+)$/
const callForm = /^\d+$/
/** An element of a child's path: `<worker>:<run>`, or `<worker>:-`. */
export const pathForm = /^(?<parent>[0-9a-f-]{36}):(?<parentRun>\d+|-)$/

/**
 * Adds them to the fields as they are stored: `commit` becomes `<token>:<sequence>` of the last commit, `version` is the number of them; of a
 * child `session`, `parent` and `parentRun`, by its path; and `name`, where none was given: that of the kind, of a child with its call.
 */
export function readRecord(fields: Record<string, string>): RecordFields {
  const { commit, depth, path1, kind, call } = fields
  if (kind !== undefined) fields.name ??= callForm.test(call ?? '') ? defaultName(kind, Number(call)) : kind
  if (commit !== undefined) Object.assign(fields, commitForm.exec(commit)?.groups)
  if (path1 === undefined) return fields
  Object.assign(fields, pathForm.exec(fields[`path${depth}`] ?? '')?.groups)
  if (pathForm.test(path1)) fields.session = sessionOfPath(path1)
  return fields
}

/** The session of a child, by the first element of its path, `<root>:<run>`; and that of a root, by its id. */
export function sessionOfPath(path1: string): string {
  return sessionIdOfRoot(path1.slice(0, idLength))
}
