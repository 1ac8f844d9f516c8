/** A swap list holds each item once, and no removed item. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SwapList } from '../../src/core/swap-list.ts'

const thing = (name: string) => ({ name, index: -1 })
const listOf = (...things: ReturnType<typeof thing>[]) => {
  const list = new SwapList<ReturnType<typeof thing>>()
  for (const one of things) list.add(one)
  return list
}

describe('a swap list', () => {
  test('a swap list holds the same items as a set, after any additions and removals', () => {
    const [name, word] = [fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('add', 'remove')]
    fc.assert(
      fc.property(fc.array(fc.tuple(word, name), { maxLength: 60, size: 'max' }), (calls) => {
        const things = new Map(['a', 'b', 'c', 'd', 'e'].map((each) => [each, thing(each)]))
        const [held, list] = [new Set<string>(), listOf()]
        for (const [call, each] of calls) {
          held[call === 'add' ? 'add' : 'delete'](each)
          list[call](things.get(each) as ReturnType<typeof thing>)
          const names = list.list().map((one) => one.name)
          expect([list.size, names.sort()]).toEqual([held.size, [...held].sort()])
        }
      }),
    )
  })

  test('a swap list gives a copy that does not change while items are removed', () => {
    const [one, other] = [thing('one'), thing('other')]
    const list = listOf(one, other)
    const copy = list.list()
    list.remove(one)
    expect(copy).toEqual([one, other])
  })
})
