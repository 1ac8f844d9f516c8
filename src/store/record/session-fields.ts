/** Duty: how a session stands, by fields of its root's record, as readers see it: state, end and result one by one. */
import { fieldsNamed, type RecordFields } from '../script/replies.ts'

/** What is always asked for. A record with a path is no root's: any id can be written as that of a session. */
export const sessionNames = ['kind', 'path1', 'cancel', 'ended', 'workers'] as const

/** By fields of a root's record, `sessionNames` first; null without one. */
export function sessionFields(names: readonly string[], values: readonly (string | null)[]): RecordFields | null {
  const [kind, path] = values
  if (kind == null || path != null) return null
  const fields = fieldsNamed(names, values)
  fields.state = fields.cancel === undefined ? 'active' : 'cancelling'
  return endedFields(fields)
}

/** A session that ended keeps status, time, run and place of the result in one field; readers see them one by one. */
function endedFields(fields: Record<string, string>): RecordFields {
  if (fields.ended === undefined) return fields
  const [status = '', finished = '', run, position] = fields.ended.split(' ')
  const result = run === undefined ? {} : { [`result:${run}`]: `${status} ${position}` }
  return { ...fields, ...result, state: status, finished }
}
