/** The kinds of a node, as its claims name them. */
import { expect, test, vi } from 'vitest'
import { KindLists } from '../../../src/store/turn/kind-lists.ts'

test('a short list goes with each claim: kinds that spawn nothing come last, and those with onCancel twice', () => {
  const lists = new KindLists({
    kinds: new Map([['default', ['a', 'b', 'c']]]),
    childless: new Set(['b']),
    withOnCancel: new Set(['c']),
  })
  expect([lists.of('default'), lists.of('default'), lists.of('other')]).toEqual([' a c c* ! b ', ' a c c* ! b ', ' '])
})

test('a long list goes by its name, and is sent whole every few seconds: a Redis that lost it has it again (KIND-LISTS-1)', () => {
  let now = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const kinds = Array.from({ length: 100 }, (_, index) => `kind-${index}`)
  const lists = new KindLists({ kinds: new Map([['default', kinds]]) })
  const isWhole = () => lists.of('default').endsWith(' kind-99 ')
  const sent = [0, 1, 9_000, 1_001, 1, 10_001].map((ms) => {
    now += ms
    return isWhole()
  })
  expect(sent).toEqual([true, false, false, true, false, true])
  expect(lists.of('default')).toMatch(/^@[0-9a-f]{40}$/)
})
