/** At which gates a run asks, by what its kind declares and by its input. */
import { expect, test } from 'vitest'
import { gatesAgain, gatesFor, type RunKey } from '../../../src/core/definition/run-limits.ts'
import { gateIdOf } from '../../../src/core/worker/gates.ts'

const keyed = (key: RunKey<never>) => ({ concurrency: { most: 2, key } })
const keyOf = (key: RunKey<never>, input: unknown) => gatesFor(keyed(key), 'k', input)[0]?.key

test('a run asks at one gate for each limit of its kind', () => {
  const declared = { concurrency: { most: 2 }, rate: { most: 5, perMs: 1_000, key: 'tenant' } }
  const id = gateIdOf('acme')
  expect(gatesFor(declared, 'k', { tenant: 'acme' })).toEqual([
    { sort: 'runs', id: 'all', key: null, most: 2 },
    { sort: 'rate', id, key: 'acme', most: 5, perMs: 1_000 },
  ])
  expect(gatesAgain(declared, { runs: 'all', rate: id })).toMatchObject([
    { sort: 'runs' },
    { sort: 'rate', id, perMs: 1_000 },
  ])
  // A run that had no key has no gate later either.
  expect(gatesAgain(declared, { runs: null, rate: null })).toEqual([])
})

test.each<[RunKey<never>, unknown, string | undefined]>([
  ['order.tenant', { order: { tenant: 'acme' } }, 'acme'],
  ['tenant', { tenant: 7 }, '7'],
  ['tenant', { tenant: null }, undefined],
  ['tenant', 'a text', undefined],
  // What each object has is no field of the input.
  ['constructor', {}, undefined],
  [() => null, {}, undefined],
  [(input: { readonly a: string }) => input.a, { a: 'x' }, 'x'],
])('the key %j of the input %j is %j', (key, input, text) => {
  expect(keyOf(key, input)).toBe(text)
})

test.each<[RunKey<never>, unknown, RegExp]>([
  ['tenant', { tenant: { id: 1 } }, /^the key of concurrency of kind "k" must be a text, a number or null, not/],
  ['tenant', { tenant: 'é'.repeat(129) }, /has 258 bytes, and may have 256/],
  [
    () => {
      throw new Error('no tenant')
    },
    {},
    /could not be made from the input: no tenant/,
  ],
])('the key %j cannot be made from the input %j', (key, input, why) => {
  expect(() => keyOf(key, input)).toThrow(why)
})
