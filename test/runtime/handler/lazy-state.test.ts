/** The state is parsed when `receive` reads it: a large state costs nothing if nobody looks at it. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker, type Self } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

test('the state is checked once for a receive that reads it, however often, and never for one that does not', async () => {
  let checks = 0
  const counted = z.unknown().transform((value) => {
    checks++
    return { value }
  })
  const reader = defineWorker<unknown>({
    state: counted,
    initial: 1,
    receive(message, self) {
      const reads = message.kind === 'input' ? Number(message.value) : 0
      const seen = new Set(Array.from({ length: reads }, () => self.state))
      self.reply([seen.size, checks])
    },
  })
  await using troupe = await TestTroupe.start({ workers: { reader } })
  const session = await troupe.create('reader', 0, { keepOpen: true })
  expect(await session.result({ run: 1 })).toMatchObject({ value: [0, 0] })
  await session.root.send(3)
  expect(await session.result({ run: 2 })).toMatchObject({ value: [1, 1] })
  await session.root.send(0)
  expect(await session.result({ run: 3 })).toMatchObject({ value: [0, 1] })
})

test('a self that set nothing reads, after its receive, the state before later receives change it', async () => {
  const kept: Self<number>[] = []
  const keeper = defineWorker<number>({
    initial: 1,
    receive(_, self) {
      kept.push(self)
      if (self.run === 2) self.setState(2)
      self.reply(self.run === 3 ? kept.map((one) => one.state) : null)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { keeper } })
  const session = await troupe.create('keeper', null, { keepOpen: true })
  await session.result({ run: 1 })
  await session.root.send(null)
  await session.result({ run: 2 })
  await session.root.send(null)
  expect(await session.result({ run: 3 })).toMatchObject({ value: [1, 2, 2] })
})
