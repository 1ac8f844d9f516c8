/** Duty: make the note that stands in a prompt for what its model or its worker refused. */
import type { ErrorCode } from '../../errors.ts'

const leftOutBecause: ReadonlyMap<ErrorCode, string> = new Map<ErrorCode, string>([
  ['context_overflow', 'it was too long for the model'],
  ['input_invalid', 'it did not have the form that this worker takes'],
  ['input_refused', 'this worker did not accept it'],
  ['permission_exceeded', 'it asked for a folder that this worker may not use'],
])

/** `what`: the input of the run, or the newest results. */
export function leftOutNote(what: 'input' | 'results', code: ErrorCode): string {
  const why = leftOutBecause.get(code) ?? 'the model could not take it'
  return what === 'input'
    ? `(a message was left out here: ${why}, and nobody answered it)`
    : `(this result was left out: ${why}; the tool did run)`
}
