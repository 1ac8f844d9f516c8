/** The request for a summary: one text without tools, and shorter each time it is too long. */
import { expect, test } from 'vitest'
import type { ModelRequest, PromptMessage } from '../../../../src/core/definition/model.ts'
import { TerminalError } from '../../../../src/core/errors.ts'
import { say } from '../../../../src/models/local/scripted-model.ts'
import { writeHandoff } from '../../../../src/runtime/agent/compaction/handoff.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'

const long = `begin ${'x'.repeat(10_000)} end`
const before: PromptMessage[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: long },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    ],
  },
  {
    role: 'assistant',
    model: 'test/m',
    content: [
      { type: 'reasoning', text: 'secret thoughts' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: { path: 'a.txt' } },
    ],
  },
  { role: 'tool', results: [{ toolCallId: 'c', toolName: 'read', output: { type: 'json', value: { lines: 3 } } }] },
]
const settings = {
  instruction: undefined,
  tokensMax: null,
  key: 'k',
  signal: new AbortController().signal,
  onRequest() {},
  onSent() {},
  onUsage() {},
}
const textOf = (request: ModelRequest | undefined) => JSON.stringify(request?.messages)
const tooLong = () => new TerminalError('too long', { code: 'context_overflow' })

test('a handoff holds users, calls and results in order, and neither bytes of media nor thoughts', async () => {
  const model = recordedModel('test/m', [say('  A summary. ')])
  expect(await writeHandoff(model, before, settings)).toMatchObject({ text: 'A summary.' })
  expect(model.requests).toHaveLength(1)
  expect(model.requests[0]?.tools).toEqual([])
  const text = textOf(model.requests[0])
  expect(text).toMatch(
    /USER: begin x+ end.*USER: \(image \(image\/png, 3 B\)\).*CALL of read: .*a\.txt.*RESULT of read: .*lines/,
  )
  expect(text).not.toMatch(/AAAA|secret thoughts/)
})

test('a handoff is made with half of the text, then with a quarter, if it is too long, and is given up then [1.54]', async () => {
  const model = recordedModel('test/m', [tooLong(), tooLong(), say('A summary.')])
  expect(await writeHandoff(model, before, settings)).toMatchObject({ text: 'A summary.' })
  const lengths = model.requests.map((request) => textOf(request)?.length ?? 0)
  expect(lengths[1]).toBeLessThan((lengths[0] ?? 0) * 0.6)
  expect(lengths[2]).toBeLessThan(lengths[1] ?? 0)
  expect(textOf(model.requests[2])).toMatch(/begin x+.*characters left out.*x+ end/)
  expect(new Set(model.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3)
  const never = recordedModel('test/m', () => tooLong())
  await expect(writeHandoff(never, before, settings)).rejects.toThrow('too long')
  expect(never.requests).toHaveLength(3)
})

test('a handoff is shorter from the start if the window is known', async () => {
  const model = recordedModel('test/m', [say('A summary.')])
  await writeHandoff(model, before, { ...settings, tokensMax: 2_000 })
  expect(textOf(model.requests[0])?.length).toBeLessThan(6_000)
})

test('a handoff is given up when its signal fires, even if its model ignores the signal', async () => {
  const model = { id: 'test/m', reply: () => new Promise<never>(() => {}) }
  const stop = new AbortController()
  const writing = writeHandoff(model, before, { ...settings, signal: stop.signal })
  stop.abort(new Error('its time is over'))
  await expect(writing).rejects.toThrow('its time is over')
})
