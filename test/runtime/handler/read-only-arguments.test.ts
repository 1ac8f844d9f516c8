/** What `receive` gets cannot be changed in place: such a change would be lost with the next receive. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

// biome-ignore lint/suspicious/noExplicitAny: each write is one that the types refuse
type Any = any

const changes: readonly [string, (message: Any, self: Any) => unknown][] = [
  ['a field of the state', (_, self) => self.state.n++],
  ['a list within the state', (_, self) => self.state.list.push(1)],
  ['the state after setState', (_, self) => self.setState({ n: 5, list: [] }) ?? self.state.n++],
  ['the value of the message', (message) => (message.value.text = 'other')],
  ['a part of the value', (message) => message.value.tags.push('x')],
  ['the message', (message) => (message.value = 1)],
  ['the state, after an await', async (_, self) => (await Promise.resolve(self)).state.n++],
]

describe('a change in place of', () => {
  test.each(changes)('%s fails the run at once, and the failure names self.setState (HANDLER-5)', async (_, change) => {
    let received = 0
    const careless = defineWorker<{ n: number; list: number[] }>({
      initial: { n: 0, list: [] },
      async receive(message, self) {
        received++
        await change(message, self)
        self.reply(self.state.n)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { careless } })
    expect(await troupe.run('careless', { text: 'a', tags: [] })).toMatchObject({
      status: 'failed',
      failure: { code: 'run_failed', message: expect.stringMatching(/^Cannot .*self\.setState/) as string },
    })
    expect(received).toBe(1)
  })
})

test('a state that a schema makes, with a Map and an instance of a class, works as the schema made it', async () => {
  class Money {
    #cents: number
    constructor(cents: number) {
      this.#cents = cents
    }
    get text(): string {
      return `${this.#cents / 100} EUR`
    }
  }
  const shop = defineWorker({
    state: z.object({
      prices: z.record(z.string(), z.number()).transform((prices) => new Map(Object.entries(prices))),
      total: z.number().transform((cents) => new Money(cents)),
    }),
    initial: { prices: { tea: 2 }, total: 150 } as never,
    receive: (_, self) => self.reply([self.state.prices.get('tea'), self.state.total.text]),
  })
  await using troupe = await TestTroupe.start({ workers: { shop } })
  expect(await troupe.run('shop', null)).toMatchObject({ value: [2, '1.5 EUR'] })
})

test('initial belongs to its author: a node that reads it does not freeze it', async () => {
  const initial = { list: [1] }
  const reader = defineWorker({ initial, receive: (_, self) => self.reply(self.state.list) })
  await using troupe = await TestTroupe.start({ workers: { reader } })
  expect(await troupe.run('reader', null)).toMatchObject({ value: [1] })
  expect(Object.isFrozen(initial.list)).toBe(false)
})
