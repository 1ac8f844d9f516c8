/** What is said behind the result of a run. */
import { expect, test } from 'vitest'
import { tellRetry } from '../../../src/cli/commands/talk/print-result.ts'
import type { Session } from '../../../src/client/session/session.ts'
import type { ErrorCode } from '../../../src/core/errors.ts'

const session = { id: 's1', retryOutlook: async () => ({ kind: 'step', step: 'message 1' }) } as unknown as Session

test.each<[ErrorCode, string]>([
  ['handler_failed', 'To let it go on with message 1: troupe session retry s1'],
  ['input_invalid', 'If you change its code, it can go on with message 1: troupe session retry s1'],
])('after a run that failed with %s, the advice is "%s"', async (code, advice) => {
  const said: string[] = []
  const failure = { code, origin: 'runtime', message: 'it failed' } as never
  await tellRetry(session, { status: 'failed', run: 1, failure }, (line) => said.push(line))
  expect(said).toEqual([advice])
})
