/** What handlers and tools do to the values they are handed: none of it reaches what is recorded, or what others are handed. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../src/core/define-worker.ts'
import { expectInvariants } from '../support/oracle.ts'
import { TestTroupe } from '../support/test-troupe.ts'

interface Order {
  n: number
  order?: unknown
}

const changes: [string, (order: Order) => void][] = [
  [
    'another value',
    (order) => {
      order.n = 99
    },
  ],
  [
    'a circle',
    (order) => {
      order.order = order
    },
  ],
  [
    'a BigInt',
    (order) => {
      order.order = 1n
    },
  ],
]

describe('a handler', () => {
  test.each(changes)(
    'that makes %s of its input is received once, and recorded with what it was sent (R4)',
    async (_, to) => {
      let received = 0
      const careless = defineWorker({
        receive(message, self) {
          received++
          to(message.value as Order)
          self.reply('done')
        },
      })
      await using troupe = await TestTroupe.start({ workers: { careless } })
      const session = await troupe.create('careless', { n: 1 })
      expect(await session.result()).toMatchObject({ status: 'completed', value: 'done' })
      expect(received).toBe(1)
      const [entry] = await troupe.history(session.rootId)
      expect(entry).toMatchObject({ type: 'received', message: { kind: 'input', from: null, value: { n: 1 } } })
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )

  test('that changes the result of a child goes on, and fails with its own words when it throws', async () => {
    const parent = defineWorker({
      retries: 0,
      receive(message, self) {
        if (message.kind === 'input') return void self.spawn('child', 1)
        Object.assign(message.value as Order, { order: 1n })
        throw new Error('on purpose')
      },
    })
    const child = defineWorker({ receive: (_, self) => self.reply({ n: 1 }) })
    await using troupe = await TestTroupe.start({ workers: { parent, child } })
    const session = await troupe.create('parent')
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { message: 'on purpose', attempt: 1 } })
    expect((await troupe.history(session.rootId))[1]).toMatchObject({ type: 'received', message: { value: { n: 1 } } })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('is handed what its schema makes of an input, JSON or not, and the input is recorded as it was sent (R4)', async () => {
    const large = defineWorker({
      input: z.object({ id: z.coerce.bigint(), times: z.number().default(1) }),
      receive(message, self) {
        const { id, times } = message.value as { id: bigint; times: number }
        self.reply([typeof id, times])
      },
    })
    await using troupe = await TestTroupe.start({ workers: { large } })
    const session = await troupe.create('large', { id: '12345678901234567890' })
    expect(await session.result()).toMatchObject({ status: 'completed', value: ['bigint', 1] })
    const [entry] = await troupe.history(session.rootId)
    expect(entry).toMatchObject({ message: { value: { id: '12345678901234567890' } } })
    expect(entry).not.toHaveProperty('message.value.times')
  })
})
