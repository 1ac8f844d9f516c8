/**
 * Duty: fields that are not what they should be. Somebody wrote them: such a record is named, and held to no other rule, since
 * whatever else could be said of it might follow from that.
 */
import { decodeRunState, runStates, workerStates } from '../core/worker/run-state.ts'
import { isGrantText } from '../core/worker/worker-grant.ts'
import { pathForm } from '../store/record/record-fields.ts'
import type { RecordFields } from '../store/script/replies.ts'

type Form = Pick<RegExp, 'test'> | readonly string[]

const whole = /^\d+$/
const numbers = (...names: string[]) => names.map((name): [string, Form] => [name, whole])

/** Absent fields are at their start. */
const workerForms: readonly [string, Form][] = [
  ['place', workerStates],
  ['mode', ['job', 'conversation']],
  ['open', ['0', '1']],
  ['failed', ['0', '1']],
  ['token', /^(\d+:.*)?$/],
  ['commit', /^\d+:.*:\d+$/],
  ['wait', /^(any|control|retry|result:[0-9a-f-]{36}|family:\d+)$/],
  ['awaits', /^(\d+(-\d+)?(,\d+(-\d+)?)*)?$/],
  ['attempt', /^\d+( \S+( \d+ \S+)*)?$/],
  ['limits', /^\d+ \d+ \d+ \d+$/],
  ['grant', { test: isGrantText }],
  ...numbers('run', 'depth', 'control', 'family', 'user', 'alone', 'crashes', 'timersOpen', 'calls', 'call'),
]
const sessionForms: readonly [string, Form][] = [
  ['spent', /^\d+ \d+$/],
  ['caps', /^\d+ \d+$/],
  ['ended', /^(completed|failed|cancelled) \d+( \d+ \d+)?$/],
  ...numbers('workers', 'marks', 'retired', 'resting'),
]

/** What is wrong with the fields of a worker's record, a sentence for each. */
export function malformedWorker(fields: RecordFields): string[] {
  const found = malformed(fields, workerForms, 'its record')
  for (const name of ['kind', 'place']) if (!fields[name]) found.push(`its record should have a field ${name}`)
  if (fields.runState !== undefined && !runStates.includes(decodeRunState(fields.runState).run))
    found.push(wrong('runState', 'its record', fields.runState))
  const depth = whole.test(fields.depth ?? '0') ? Number(fields.depth ?? 0) : 0
  for (let level = 1; level <= Math.min(depth, 64); level++) {
    const element = fields[`path${level}`]
    if (element === undefined) found.push(`its record should have a field path${level}`)
    else if (!pathForm.test(element)) found.push(wrong(`path${level}`, 'its record', element))
  }
  return found
}

export function malformedSession(id: string, fields: RecordFields | null): string[] {
  return fields === null ? [] : malformed(fields, sessionForms, `the record of session ${id}`)
}

function malformed(fields: RecordFields, forms: readonly [string, Form][], where: string): string[] {
  return forms.flatMap(([name, form]) => (fits(fields[name], form) ? [] : [wrong(name, where, fields[name] as string)]))
}

function fits(text: string | undefined, form: Form): boolean {
  return text === undefined || ('test' in form ? form.test(text) : form.includes(text))
}

/** Names of fields of a record, also of a session's root, whose values would be told as something they do not say. */
export function misreadFields(fields: RecordFields): string[] {
  const names = [...workerForms, ...sessionForms]
    .filter(([name, form]) => !fits(fields[name], form))
    .map(([name]) => name)
  const { runState } = fields
  if (runState !== undefined && !runStates.includes(decodeRunState(runState).run)) names.push('runState')
  if (!fields.kind) names.push('kind')
  return names
}

function wrong(name: string, where: string, text: string): string {
  return `field ${name} of ${where} should not be ${JSON.stringify(text.slice(0, 40))}`
}
