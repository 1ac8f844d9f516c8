import { expect, test } from 'vitest'
import { handledText } from '../../../../src/cli/view/lines/handled-letters.ts'

const letters = (...statuses: string[]) => statuses.map((status) => ({ status }))

test.each([
  ['one letter needs no count', letters('redriven'), undefined],
  ['letters that were all handled are counted once', letters('redriven', 'redriven'), '2 dead letters: 2 put back.'],
  [
    'letters are counted by what became of them',
    letters('refused', 'redriven', 'again', 'refused'),
    '4 dead letters: 1 put back, 1 put back before, 2 refused.',
  ],
])('%s', (_, done, text) => {
  expect(handledText(done, 'put back')).toBe(text)
})
