/** A bag holds what is under way: each thing once, and none that was taken out. */
import { describe, expect, test } from 'vitest'
import { Bag } from '../../src/core/bag.ts'

const thing = (name: string) => ({ name, place: -1 })
const names = (bag: Bag<ReturnType<typeof thing>>) =>
  bag
    .list()
    .map(({ name }) => name)
    .sort()

describe('a bag', () => {
  test.each(['first', 'middle', 'last'])(
    'gives up the %s one and keeps the others, which can be taken out as well',
    (name) => {
      const bag = new Bag<ReturnType<typeof thing>>()
      const all = ['first', 'middle', 'last'].map(thing)
      for (const one of all) bag.add(one)
      bag.remove(all.find((one) => one.name === name) as (typeof all)[number])
      const left = all.filter((one) => one.name !== name)
      expect(names(bag)).toEqual(left.map((one) => one.name).sort())
      for (const one of left) bag.remove(one)
      expect(bag.size).toBe(0)
    },
  )

  test('holds a thing once, and does not mind one that it does not hold', () => {
    const bag = new Bag<ReturnType<typeof thing>>()
    const [one, other] = [thing('one'), thing('other')]
    bag.add(one)
    bag.add(one)
    bag.remove(other)
    expect(names(bag)).toEqual(['one'])
    bag.remove(one)
    bag.remove(one)
    bag.add(other)
    expect(names(bag)).toEqual(['other'])
  })
})
