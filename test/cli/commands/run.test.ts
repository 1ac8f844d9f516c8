/** The sentences of `troupe run` beside its result. */
import { describe, expect, it } from 'vitest'
import { ignoredOptions, unfinishedText } from '../../../src/cli/commands/run.ts'

describe('ignoredOptions', () => {
  it.each([
    [{}, []],
    [{ workers: 'mine' }, ['troupe: a live node hosts clerk and runs it; --workers mine is ignored']],
    [{ model: 'a/b' }, ['troupe: a live node hosts clerk and chooses its model; --model a/b is ignored']],
    [{ workers: 'a\u001b', model: 'a/b' }, [expect.stringContaining('--workers a\\e is'), expect.any(String)]],
  ])('names the options of %j that a live node cannot use', (flags, lines) => {
    expect(ignoredOptions('clerk', flags)).toEqual(lines)
  })
})

describe('unfinishedText', () => {
  const later = 'Get its result later with: troupe session result s-1 --wait'

  it.each([
    ['an interrupt', false, true, /has not ended yet; `troupe session show s-1` shows what it waits for$/],
    ['a lost terminal, while another node runs the work', true, false, new RegExp(`session goes on\\. ${later}$`)],
    ['a lost terminal of a process with the only node', true, true, new RegExp(`waits for another node, .* ${later}$`)],
  ])('says what happens to the session after %s', (_, isHangUp, isHere, text) => {
    expect(unfinishedText({ id: 's-1' }, isHangUp, isHere)).toMatch(text)
  })
})
