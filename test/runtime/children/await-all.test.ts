/** Parents that wait for all results: the last child wakes them, once, and they get the results in call order. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { namedFields } from '../../support/record-fields.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** Spawns a child for each value, and replies what it received, in the order it came. */
function parentOf(awaits: 'each' | 'all', timerMs?: number) {
  return defineWorker<unknown[]>({
    initial: [],
    await: awaits,
    receive(message, self) {
      if (message.kind === 'input') {
        for (const value of message.value as unknown[]) self.spawn('child', value)
        if (timerMs !== undefined) self.after(timerMs, 'tick')
        return
      }
      self.setState([...self.state, message.value])
      if (self.openChildren === 0) self.reply(self.state)
    },
  })
}

/** Makes children that end when they are told to. */
function gates(numbers: readonly number[]) {
  const all = new Map(numbers.map((number) => [number, Promise.withResolvers<void>()]))
  const child = defineWorker({
    async receive(message, self) {
      await all.get(message.value as number)?.promise
      self.reply(message.value)
    },
  })
  return { child, open: (number: number) => all.get(number)?.resolve() }
}

async function rootRecord(troupe: TestTroupe, rootId: string): Promise<Record<string, string>> {
  return namedFields(await troupe.redis.hgetall(`{${troupe.namespace}.0}:w:${rootId}`))
}

describe('a parent that waits for all results', () => {
  test.each([
    { await: 'each', order: [1, 2, 3], turns: 4 },
    { await: 'all', order: [1, 2, 3], turns: 2 },
    { await: 'all', order: [3, 1, 2], turns: 2 },
  ] as const)(
    'a parent that awaits $await: with the order $order it has $turns turns, and the results in call order',
    async ({ await: awaits, order, turns }) => {
      const { child, open } = gates([1, 2, 3])
      await using troupe = await TestTroupe.start({ workers: { parent: parentOf(awaits), child } })
      const session = await troupe.create('parent', [1, 2, 3])
      for (const number of order) {
        open(number)
        await waitUntil(`child ${number} has ended, and the parent what it does of it`, async () => {
          const { workers } = await session.report()
          const ended = workers.find(({ name }) => name === `child-${number}`)?.lifecycle === 'idle'
          // The commit with which a child ends queues its parent.
          return ended && ['parked', 'idle'].includes((await rootRecord(troupe, session.rootId)).status ?? '')
        })
      }
      expect(await session.result()).toMatchObject({ status: 'completed', value: [1, 2, 3] })
      const { commit, version } = await rootRecord(troupe, session.rootId)
      expect(Number(commit?.split(':')[0])).toBe(turns)
      // All results come in one commit, with the reply: a step that only takes a result waits for the next result that is there.
      expect(version).toBe(String(turns))
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )

  test('a parent that waits for all results receives all of them in the turn whose claim has read them, however short that turn is', async () => {
    const values = Array.from({ length: 9 }, (_, index) => index)
    const child = defineWorker({ receive: (message, self) => self.reply(message.value) })
    const policy = { turnSliceSteps: 2 }
    await using troupe = await TestTroupe.start({ workers: { parent: parentOf('all'), child }, policy })
    const session = await troupe.create('parent', values)
    expect(await session.result()).toMatchObject({ status: 'completed', value: values })
    expect((await rootRecord(troupe, session.rootId)).commit).toMatch(/^2:/)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a parent that waits for all results receives a timer while it waits, and then the results', async () => {
    const { child, open } = gates([1, 2])
    await using troupe = await TestTroupe.start({ workers: { parent: parentOf('all', 1), child } })
    const session = await troupe.create('parent', [1, 2])
    open(2)
    await waitUntil('the timer was received', async () => {
      const { signalsOpen, status } = await rootRecord(troupe, session.rootId)
      return signalsOpen === '0' && status === 'parked'
    })
    open(1)
    expect(await session.result()).toMatchObject({ status: 'completed', value: ['tick', 1, 2] })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a parent that waits for all results takes as many results in each turn as an assignment holds, whatever their order', async () => {
    const values = Array.from({ length: 8 }, (_, index) => String(index).repeat(3_000))
    await using troupe = await TestTroupe.start({
      workers: {
        parent: parentOf('all'),
        child: defineWorker({
          async receive(message, self) {
            // The first child comes last.
            if (message.value === values[0])
              await waitUntil('its siblings have ended', async () => ended === values.length - 1)
            self.reply(message.value)
            ended++
          },
        }),
      },
      policy: { claimMailBytes: 7_000 },
    })
    let ended = 0
    const session = await troupe.create('parent', values)
    expect(await session.result()).toMatchObject({ status: 'completed', value: values })
    // One turn spawned the children, and each further turn took two of them.
    expect((await rootRecord(troupe, session.rootId)).commit).toMatch(/^5:/)
    expect(await troupe.redis.exists(`${troupe.tag}:w:${session.rootId}:mail:large`)).toBe(0)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a parent that waits for all results can be a parent again in its next run, even if the last one left results behind', async () => {
    const { child, open } = gates([1, 2])
    const parent = defineWorker<unknown[]>({
      initial: [],
      await: 'all',
      receive(message, self) {
        if (message.kind === 'input') {
          self.setState([])
          for (const value of message.value as unknown[]) self.spawn('child', value)
          if ((message.value as unknown[])[0] === 2) self.after(1, 'enough')
        } else {
          self.setState([...self.state, message.value])
          if (self.openChildren === 0 || message.kind === 'timer') self.reply(self.state)
        }
      },
    })
    await using troupe = await TestTroupe.start({ workers: { parent, child } })
    const session = await troupe.create('parent', [2, 3, 4], { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ value: ['enough'] })
    open(2)
    await session.root.send([5, 6, 7])
    expect(await session.result({ run: 2 })).toMatchObject({ value: [5, 6, 7] })
    open(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
