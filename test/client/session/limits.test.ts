/** Which limits a new session takes, and which a session that exists. */
import { expect, test } from 'vitest'
import { checkLimits, checkSpending } from '../../../src/client/submission/limits.ts'
import { hardSessionLimits } from '../../../src/core/policy.ts'

test('a new session takes each limit up to its hard limit, and a depth of 0', () => {
  expect(checkLimits({ ...hardSessionLimits, depth: 0 })).toEqual({ ...hardSessionLimits, depth: 0 })
  expect(checkLimits({ tokens: undefined } as object)).toEqual({})
  for (const [name, value] of [
    ...Object.entries(hardSessionLimits).map(([limit, most]) => [limit, most + 1] as const),
    ['depth', -1],
    ['tokens', 0],
    ['tokens', 1.5],
    ['tokens', '5'],
  ] as const)
    expect(() => checkLimits({ [name]: value })).toThrow(`the limit "${name}" must be a whole number from `)
  expect(() => checkLimits({ token: 5 } as object)).toThrow(/"token" is not a limit: .* Did you mean tokens\?/)
})

test('a session that exists takes at least one limit, of what it may spend', () => {
  expect(checkSpending({ tokens: 5 })).toEqual({ tokens: 5 })
  for (const none of [{}, { tokens: undefined }])
    expect(() => checkSpending(none as object)).toThrow(/^limit takes one of modelCalls/)
  expect(() => checkSpending({ workers: 5 } as object)).toThrow(
    /only modelCalls, tokens, toolCalls of an existing session/,
  )
  expect(() => checkSpending(null as never)).toThrow('limit takes an object like { modelCalls: 1000 }, not null.')
})
