/** Lines that are drawn again in place. */
import { expect, test } from 'vitest'
import { DrawnLines } from '../../../src/cli/terminal/drawn-lines.ts'
import { Screen } from './screen.ts'

function opened(columns = 21) {
  const screen = new Screen(columns)
  return { screen, lines: new DrawnLines(screen.stream) }
}

test('a frame is one write between the marks of a frame, and holds only what changed (DRAWN-1)', () => {
  const { screen, lines } = opened()
  lines.draw(['one', 'two', 'three'])
  lines.draw(['one', 'TWO', 'three'])
  expect(screen.lines).toEqual(['one', 'TWO', 'three'])
  expect(screen.writes).toHaveLength(2)
  expect(screen.writes[1]).toMatch(/^\u001b\[\?2026h.*\u001b\[\?2026l$/s)
  expect(screen.writes[1]).not.toMatch(/one|three/)
  lines.draw(['one', 'TWO', 'three'])
  expect(screen.writes).toHaveLength(2)
})

test.each([
  [['a', 'b', 'c'], ['a']],
  [['a'], ['a', 'b', 'c']],
  [
    ['a', 'b'],
    ['longer', 'b', 'c'],
  ],
  [
    ['longer', 'b'],
    ['a', 'b'],
  ],
  [
    ['a', 'b', 'c', 'd'],
    ['a', 'B', 'c', 'D'],
  ],
  [['a'], []],
])('%j becomes %j, whatever stands above', (before, after) => {
  const { screen, lines } = opened()
  lines.draw(before, ['above'])
  lines.draw(after)
  expect(screen.lines).toEqual(['above', ...after])
  lines.draw(before)
  expect(screen.lines).toEqual(['above', ...before])
})

test('a line that is wider than the terminal is cut, so that the next frame stands in its place (DRAWN-4)', () => {
  const { screen, lines } = opened(11)
  const wide = (name: string) => `${name} \u001b[2m${'漢'.repeat(20)}\u001b[22m`
  lines.draw([wide('a'), 'b'])
  lines.draw([wide('c'), 'b'])
  expect(screen.lines).toEqual(['c 漢漢漢…', 'b'])
})

test('a line above the drawn ones is written in the same frame, without an empty screen in between', () => {
  const { screen, lines } = opened()
  lines.draw(['one', 'two'])
  lines.draw(['one', 'two'], ['told'])
  expect(screen.lines).toEqual(['told', 'one', 'two'])
  expect(screen.writes).toHaveLength(2)
  expect(screen.writes[1]?.indexOf('\u001b[J')).toBeGreaterThan(screen.writes[1]?.indexOf('two') as number)
})

test('a terminal whose width changed has the old lines wiped with all rows that they take now (DRAWN-2)', () => {
  const { screen, lines } = opened(21)
  lines.draw(['x'.repeat(20), 'short'])
  screen.columns = 11
  lines.draw(['new'])
  expect(screen.writes[1]).toContain('\u001b[3A\u001b[J')
})

test('text that the person types while lines are drawn, which the terminal shows below, moves no line', () => {
  const { screen, lines } = opened()
  lines.draw(['one', 'two'])
  screen.stream.write('^C')
  lines.draw(['ONE', 'two'])
  expect(screen.lines).toEqual(['ONE', 'two', '^C'])
  screen.stream.write('x')
  lines.draw(['ONE'], ['told'])
  expect(screen.lines).toEqual(['told', 'ONE'])
})

test('nothing is written for an empty frame where nothing is drawn', () => {
  const { screen, lines } = opened()
  lines.draw([])
  expect(screen.written).toBe('')
})

test('drawn lines can be left where they are, and the next ones come below', () => {
  const { screen, lines } = opened()
  lines.draw(['last state'])
  lines.leave()
  lines.wipe()
  lines.draw(['next run'])
  expect(screen.lines).toEqual(['last state', 'next run'])
})
