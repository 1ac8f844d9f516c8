/** What a model says of its present reply. */
import { expect, test } from 'vitest'
import { StreamedText } from '../../../../src/cli/view/live/streamed-text.ts'
import type { EventType } from '../../../../src/core/event/event.ts'
import { commit } from '../../../words/commits.ts'

function after(...notes: [EventType, Record<string, unknown>][]): string {
  const streamed = new StreamedText()
  for (const event of commit('root', ...notes)) streamed.note(event)
  return streamed.text
}
const delta = (text: string, iteration = 1): [EventType, Record<string, unknown>] => ['text.delta', { text, iteration }]

test('the pieces of one reply are one text', () => {
  expect(after(delta('Hello '), delta('world'))).toBe('Hello world')
})

test.each([
  ['is recorded', ['model.replied', { iteration: 1 }]],
  ['is blank', ['model.blanked', {}]],
  ['fails', ['turn.retried', {}]],
] as const)('the text of a reply is gone once the reply %s', (_, [type, details]) => {
  expect(after(delta('Hello'), [type, details])).toBe('')
})

test('text that arrives after its reply is recorded is ignored (STREAMED-1)', () => {
  expect(after(delta('word', 2), ['model.replied', { iteration: 2 }], delta('late', 2))).toBe('')
  expect(after(delta('third', 3), ['model.replied', { iteration: 2 }], delta(' goes on', 3))).toBe('third goes on')
})

test('each iteration and each run begins anew', () => {
  expect(after(delta('first', 1), delta('second', 2))).toBe('second')
  expect(after(['model.replied', { iteration: 4 }], ['run.completed', {}], delta('of the next run', 1))).toBe(
    'of the next run',
  )
})

test('a long text is kept only by its end (STREAMED-2)', () => {
  expect(after(delta('x'.repeat(100_000)), delta('end'))).toMatch(/^x{3997}end$/)
})

test('a text that begins anew replaces the old one (STREAMED-3)', () => {
  const piece = (text: string, offset: number): [EventType, Record<string, unknown>] => [
    'text.delta',
    { text, iteration: 1, offset },
  ]
  expect(after(piece('Hello ', 0), piece('world', 6))).toBe('Hello world')
  expect(after(piece('Hello ', 0), piece('Good', 0), piece('bye', 4))).toBe('Goodbye')
})
