/** Duty: prints the result of a run: the value on stdout, a failure as a sentence on stderr. */

import type { Session } from '../../../client/session/session.ts'
import { type CutReason, isAgentResult } from '../../../core/history/agent-result.ts'
import type { RunResult } from '../../../core/history/entry.ts'
import { isDeeperThan } from '../../../core/json.ts'
import { failureSentence } from '../../../words/lines/message-line.ts'
import type { RawFlag } from '../../options.ts'
import { type JsonFlag, paint, printJson, printText, safe, tell } from '../../terminal/output.ts'

export function printResult(sessionId: string, result: RunResult, flags: JsonFlag & RawFlag): void {
  if (flags.json) printJson({ type: 'result', sessionId, ...result })
  const troupe = paint('red', 'troupe:', process.stderr)
  switch (result.status) {
    case 'completed':
      if (!flags.json) printText(textOf(result.value), flags)
      if (isAgentResult(result.value) && result.value.finishReason !== undefined)
        tell(cutText(result.value.finishReason))
      return
    case 'failed':
      tell(`${troupe} run ${result.run} of session ${sessionId} failed: ${safe(failureSentence(result.failure))}`)
      return
    case 'cancelled':
      tell(`${troupe} run ${result.run} of session ${sessionId} was cancelled.`)
  }
}

/** Says how a failed job can go on, if it can and its failure does not say it. */
export async function tellRetry(
  session: Session,
  result: RunResult,
  say: (line: string) => void = tell,
): Promise<void> {
  if (result.status !== 'failed' || result.failure.message.includes('troupe session retry')) return
  // The result is printed already: what cannot be read now only takes away the advice.
  const outlook = await session.retryOutlook().catch(() => null)
  // The same code would refuse the same input again.
  const how = result.failure.code === 'input_invalid' ? 'If you change its code, it can go on' : 'To let it go on'
  if (outlook?.kind === 'step') say(`${how} with ${safe(outlook.step)}: troupe session retry ${session.id}`)
  if (outlook?.kind === 'undecided')
    say(`To let it go on, once you know what became of the call: troupe session retry ${session.id} --unknown done`)
}

function cutText(reason: CutReason): string {
  return reason === 'length'
    ? 'troupe: the answer is not whole: the model reached its length limit (maxOutputTokens).'
    : 'troupe: the answer is not whole: a filter of the provider cut it.'
}

/** Text stays text, and any other value becomes indented JSON. A person wants to read the words of an agent; --json has its facts. */
function textOf(value: unknown): string {
  if (isAgentResult(value)) return value.output === undefined ? value.text : prettyJson(value.output)
  return typeof value === 'string' ? value : prettyJson(value)
}

/** More deeply nested values are written in one line: the indentation would be many times as large as the value. */
const indentedDepthMax = 20

function prettyJson(value: unknown): string {
  return isDeeperThan(value, indentedDepthMax) ? JSON.stringify(value) : JSON.stringify(value, null, 2)
}
