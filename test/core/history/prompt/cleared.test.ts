/** The notes that stand for old results of tools. */
import { expect, test } from 'vitest'
import type { PromptMessage } from '../../../../src/core/definition/model.ts'
import type { ToolOutput } from '../../../../src/core/history/chat/chat-message.ts'
import { clearableIn, clearedPart } from '../../../../src/core/history/prompt/cleared.ts'

const part = (...outputs: ToolOutput[]): PromptMessage => ({
  role: 'tool',
  results: outputs.map((output, index) => ({ toolCallId: `c${index}`, toolName: 'read', output })),
})
const outputsOf = (message: PromptMessage) =>
  message.role === 'tool' ? message.results.map(({ output }) => output) : expect.unreachable('no results')

const long = 'x'.repeat(401)

test('a long result becomes a note that says whether it was an error; a short one stays (CLEARED-2)', () => {
  const short: ToolOutput = { type: 'text', value: 'x'.repeat(400) }
  const cleared = clearedPart(
    part({ type: 'text', value: long }, { type: 'error-text', value: long }, { type: 'json', value: [long] }, short),
  )
  const note = (bytes: number) => expect.stringContaining(`of read was cleared to make room: it had ${bytes} bytes`)
  expect(outputsOf(cleared)).toEqual([
    { type: 'text', value: note(401) },
    { type: 'error-text', value: note(401) },
    { type: 'text', value: note(405) },
    short,
  ])
})

test('a part is cleared to the same object each time, and one without a long result is itself (CLEARED-1)', () => {
  const whole = part({ type: 'text', value: long })
  expect(clearedPart(whole)).toBe(clearedPart(whole))
  const small = part({ type: 'text', value: 'x' })
  expect(clearedPart(small)).toBe(small)
})

test('the room that clearing makes is what the notes are shorter by', () => {
  const whole = part({ type: 'text', value: 'é'.repeat(1_000) }, { type: 'text', value: 'x' })
  const [note] = outputsOf(clearedPart(whole))
  expect(clearableIn([whole])).toEqual({ results: 1, bytes: 2_000 - Buffer.byteLength(note?.value as string) })
})
