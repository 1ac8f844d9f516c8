/** How a guard is taken out of a script (support/mutant/mutant.ts). */
import { describe, expect, test } from 'vitest'
import { mutate, type TakenOut } from './support/mutant/mutant.ts'

const taken = (line: string, takenOut: TakenOut) =>
  mutate(['local function f()', `${line} -- guard: it`, '  g()', 'end'].join('\n'), 'it', takenOut).split('\n')

describe('a guard', () => {
  test('a guard is removed with its line, or as the last one of its function', () => {
    expect(taken('  check(x)', 'line')).toEqual(['local function f()', '  g()', 'end'])
    expect(taken('  check(x)', 'order')).toEqual(['local function f()', '  g()', '  check(x)', 'end'])
  })

  test.each<[line: string, takenOut: TakenOut, becomes: string]>([
    ['  if a and b then return c end', { condition: 'false' }, '  if false then return c end'],
    ['  elseif a then', { condition: 'true' }, '  elseif true then'],
    ['  for level = 1, most(x) do', { condition: '0' }, '  for level = 1, 0 do'],
    ['  local a = b == c', { value: 'false' }, '  local a = false'],
    ['  return a or b', { value: 'true' }, '  return true'],
    ['  local fine, x = pcall(read, y)', 'protection', '  local fine, x = true, read(y)'],
    ['  if a or b(c or d) then', { operandAfter: 1 }, '  if a then'],
    ['  if a or b(c or d) then', { operandAfter: 2 }, '  if a or b(c) then'],
    ['  if not (a or b) and c then', { operandAfter: 1 }, '  if not (a) and c then'],
    ['  local a = b <= 0 or c', { operandBefore: 1 }, '  local a = c'],
    ['  return f(a or b) or c', { operandBefore: 2 }, '  return c'],
    ['  return f(a or b) or c', { operandBefore: 1 }, '  return f(b) or c'],
    ['  local a = b <= c', { token: ['<=', '=='] }, '  local a = b == c'],
  ])('%s, %j', (line, takenOut, becomes) => expect(taken(line, takenOut)[1]).toBe(becomes))

  test('a guard that is not there, or twice, or taken out in a way that does not fit, is an error', () => {
    expect(() => mutate('check(x)', 'it', 'line')).toThrow('no guard "it"')
    expect(() => mutate('a() -- guard: it\nb() -- guard: it', 'it', 'line')).toThrow('more than one')
    expect(() => taken('  check(x)', { condition: 'false' })).toThrow('There should be')
    expect(() => taken('  check(x)', { operandAfter: 1 })).toThrow('There should be')
    expect(() => taken('  check(x)', { token: ['1', '2'] })).toThrow('There should be one 1')
  })
})
