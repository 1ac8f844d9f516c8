/**
 * Records as texts, for tests that look at what is stored: with a name for each fact that a record holds within others. Read here once more
 * and not by worker-record.ts, so that a fault there does not hide itself.
 */
import { defaultName } from '../../src/core/definition/worker-name.ts'
import { sessionIdOfRoot } from '../../src/core/ids.ts'

type Fields = Readonly<Record<string, string>>

/** `commit` becomes `<token>:<sequence>`, `version` the number of commits; of a child `session`, `parent` and `parentRun`; and `name`. */
export function namedFields(stored: Fields): Record<string, string> {
  const fields: Record<string, string> = { ...stored }
  const { commit, depth, path1, kind, call } = fields
  if (kind !== undefined) fields.name ??= /^\d+$/.test(call ?? '') ? defaultName(kind, Number(call)) : kind
  if (commit !== undefined) Object.assign(fields, /^(?<commit>.*):(?<version>\d+)$/.exec(commit)?.groups)
  if (path1 === undefined) return fields
  Object.assign(fields, /^(?<parent>.{36}):(?<parentRun>\d+|-)$/.exec(fields[`path${depth}`] ?? '')?.groups)
  fields.session = sessionIdOfRoot(path1.slice(0, 36))
  return fields
}

/** What a root's record says of its session: `state`, `finished` and `result:<run>` out of `ended`. */
export function namedSessionFields(root: Fields): Record<string, string> {
  const { ended, cancel } = root
  if (ended === undefined) return { ...root, state: cancel === undefined ? 'active' : 'cancelling' }
  const [status = '', finished = '', run, position] = ended.split(' ')
  const result = run === undefined ? {} : { [`result:${run}`]: `${status} ${position}` }
  return { ...root, ...result, state: status, finished }
}
