/** Followers of a session receive the progress of a tool in few bytes, whatever the tool passes. */
import { expect, test } from 'vitest'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { policy } from '../../../src/core/policy.ts'
import { ToolAttempt } from '../../../src/runtime/tool/attempt.ts'
import { callParts } from './support/call-parts.ts'

async function toldOf(value: unknown): Promise<unknown> {
  const tool = defineTool({
    name: 'a',
    description: 'x',
    effect: 'pure',
    run: (_input, { progress }) => progress(value),
  })
  const { parts, progress, stop } = callParts()
  expect(await new ToolAttempt(tool, parts, stop.signal, null).run({})).toMatchObject({ kind: 'returned' })
  expect(progress).toHaveLength(1)
  return progress[0]
}

test('small progress reaches followers unchanged', async () => {
  for (const value of [0.5, null, 'half', { at: ['half'] }]) expect(await toldOf(value)).toEqual(value)
})

test.each([
  ['text', 'ä'.repeat(5_000_000)],
  ['a list', Array.from({ length: 100_000 }, String)],
  ['bytes', Buffer.alloc(10_000_000)],
  ['no JSON', { big: 1n }],
])('progress that is too large or not JSON is cut before followers get it (ATTEMPT-3): %s', async (_, value) => {
  const told = await toldOf(value)
  expect(told).toMatch(/Output cut: it has|its output is binary|holds, at \.big, a bigint, which has no JSON form/)
  expect(Buffer.byteLength(String(told))).toBeLessThan(policy.progressBytesMax + 200)
})
