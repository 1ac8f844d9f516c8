/** Duty: how a run ended, said once: the value on stdout, a failure as a sentence on stderr. */
import { isAgentResult, type RunResult } from '../../core/history/entry.ts'
import { type JsonFlag, paint, printJson, printText, printValue, safe, tell } from '../terminal/output.ts'
import { failureSentence } from '../view/failure-text.ts'

export function printResult(sessionId: string, result: RunResult, flags: JsonFlag): void {
  if (flags.json) printJson({ type: 'result', sessionId, ...result })
  const troupe = paint('red', 'troupe:', process.stderr)
  switch (result.status) {
    case 'completed':
      if (flags.json) return
      // Its words are what a person wants to read; its facts are in the JSON.
      if (isAgentResult(result.value)) printText(result.value.text)
      else printValue(result.value)
      return
    case 'failed':
      tell(`${troupe} run ${result.run} of session ${sessionId} failed: ${safe(failureSentence(result.failure))}`)
      return
    case 'cancelled':
      tell(`${troupe} run ${result.run} of session ${sessionId} was cancelled.`)
  }
}
