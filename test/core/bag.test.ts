/** A bag holds what is under way: each thing once, and none that was taken out. */
import { commands as commandsOf, constantFrom, property, assert as verify } from 'fast-check'
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
    const names = ['a', 'b', 'c', 'd', 'e']
    const things = new Map(names.map((name) => [name, thing(name)]))
    type Held = Set<string>
    type Real = ReturnType<typeof bagOf>
    const command = (word: 'add' | 'remove', name: string) => ({
      check: () => true,
      run(held: Held, bag: Real) {
        const one = things.get(name) as ReturnType<typeof thing>
        if (word === 'add') held.add(name)
        else held.delete(name)
        bag[word](one)
        expect(bag.size).toBe(held.size)
        expect(
          bag
            .list()
            .map((each) => each.name)
            .sort(),
        ).toEqual([...held].sort())
      },
      toString: () => `${word} ${name}`,
    })
    const each = constantFrom(...names)
    verify(
      property(
        commandsOf([each.map((name) => command('add', name)), each.map((name) => command('remove', name))], {
          maxCommands: 60,
          size: 'max',
        }),
        (commands) => {
          for (const one of things.values()) one.place = -1
          const [held, bag]: [Held, Real] = [new Set(), bagOf()]
          for (const one of commands) one.run(held, bag)
        },
      ),
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
