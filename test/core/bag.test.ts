/** A bag holds what is under way: each thing once, and none that was taken out. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Bag } from '../../src/core/bag.ts'

const thing = (name: string) => ({ name, place: -1 })
const bagOf = (...things: ReturnType<typeof thing>[]) => {
  const bag = new Bag<ReturnType<typeof thing>>()
  for (const one of things) bag.add(one)
  return bag
}

describe('a bag', () => {
  test('holds what a set holds, whatever is put in and taken out, in any order', () => {
    const [name, word] = [fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('add', 'remove')]
    fc.assert(
      fc.property(fc.array(fc.tuple(word, name), { maxLength: 60, size: 'max' }), (calls) => {
        const things = new Map(['a', 'b', 'c', 'd', 'e'].map((each) => [each, thing(each)]))
        const [held, bag] = [new Set<string>(), bagOf()]
        for (const [call, each] of calls) {
          held[call === 'add' ? 'add' : 'delete'](each)
          bag[call](things.get(each) as ReturnType<typeof thing>)
          const left = bag.list().map((one) => one.name)
          expect([bag.size, left.sort()]).toEqual([held.size, [...held].sort()])
        }
      }),
    )
  })

  test('gives a list that stays as it is while things are taken out', () => {
    const [one, other] = [thing('one'), thing('other')]
    const bag = bagOf(one, other)
    const list = bag.list()
    bag.remove(one)
    expect(list).toEqual([one, other])
  })
})
