/** `childrenAtOnce`: further children wait to start, in order, and start exactly once, whatever happens to their siblings. */
import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const asked = (value: unknown) => value as { readonly children: number }

/** A parent that spawns as many children as it is asked for, and replies with their results. */
const parentOf = (childrenAtOnce: number, more: { await?: 'all' | 'each'; limits?: { children?: number } } = {}) =>
  defineWorker<readonly unknown[]>({
    ...more,
    childrenAtOnce,
    initial: [],
    receive(message, self) {
      if (message.kind === 'input') {
        const { children } = asked(message.value)
        for (let child = 1; child <= children; child++) self.spawn('child', child, { name: `child-${child}` })
      } else if (message.kind === 'result') {
        self.setState([...self.state, message.status === 'completed' ? message.value : message.status])
        if (self.openChildren === 0) self.reply(self.state)
      }
    },
  })

/** Holds children that end when they are told to, and counts how many run at once. */
class Held {
  readonly started: number[] = []
  readonly #ends = new Map<number, () => void>()
  most = 0

  readonly child = defineWorker({
    receive: async (message, self) => {
      const number = Number(message.kind === 'input' && message.value)
      this.started.push(number)
      this.most = Math.max(this.most, this.#ends.size + 1)
      await new Promise<void>((resolve) => {
        this.#ends.set(number, resolve)
        self.signal.addEventListener('abort', () => resolve())
      })
      this.#ends.delete(number)
      self.reply(number)
    },
  })

  /** The children as they started; the first ones, which start together, in the order of their numbers. */
  order(together: number): number[] {
    return [...this.started.slice(0, together).sort((a, b) => a - b), ...this.started.slice(together)]
  }

  async end(number: number): Promise<void> {
    await waitUntil('it is so', () => this.#ends.has(number))
    this.#ends.get(number)?.()
  }
}

async function statusOf(session: Session, name: string) {
  return (await session.report()).workers.find((worker) => worker.name === name)
}

describe.each(['each', 'all'] as const)('a parent that awaits %s', (how) => {
  test.each([1, 2, 3])('a parent has %i children at once, which start in the order of their spawns', async (most) => {
    const held = new Held()
    await using troupe = await TestTroupe.start({
      workers: { parent: parentOf(most, { await: how }), child: held.child },
    })
    const session = await troupe.create('parent', { children: 5 })
    for (let number = 1; number <= 5; number++) {
      const started = Math.min(5, number - 1 + most)
      await waitUntil('as many children as may have started', () => held.started.length === started)
      await held.end(number)
    }
    expect(await session.result()).toMatchObject({ status: 'completed', value: [1, 2, 3, 4, 5] })
    expect(held.order(most)).toEqual([1, 2, 3, 4, 5])
    expect(held.most).toBe(most)
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})

test('a child starts when any child before it has ended, not only the first', async () => {
  const held = new Held()
  await using troupe = await TestTroupe.start({ workers: { parent: parentOf(2), child: held.child } })
  const session = await troupe.create('parent', { children: 4 })
  await held.end(2)
  await held.end(3)
  await held.end(4)
  await held.end(1)
  expect(await session.result()).toMatchObject({ value: [1, 2, 3, 4] })
  expect(held.order(2)).toEqual([1, 2, 3, 4])
})

test('a child that waits to start says so, and so does its parent', async () => {
  const held = new Held()
  await using troupe = await TestTroupe.start({ workers: { parent: parentOf(1), child: held.child } })
  const session = await troupe.create('parent', { children: 3 })
  await waitUntil('the first child has started', () => held.started.length === 1)
  await waitUntil('it is so', async () => (await statusOf(session, 'parent'))?.waitsFor !== null)
  expect(await statusOf(session, 'child-3')).toMatchObject({
    activity: 'waiting',
    waitsFor: 'its turn to start: its parent has as many children at once as its kind allows',
  })
  expect((await statusOf(session, 'parent'))?.waitsFor).toMatch(/3 children are open, 2 of them wait to start$/)
  expect((await troupe.client.audit()).findings).toEqual([])
  for (const number of [1, 2, 3]) await held.end(number)
  await session.result()
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('the audit names a child that nothing will start', async () => {
  const held = new Held()
  await using troupe = await TestTroupe.start({ workers: { parent: parentOf(1), child: held.child } })
  const session = await troupe.create('parent', { children: 2 })
  await waitUntil('the first child has started', () => held.started.length === 1)
  const second = await statusOf(session, 'child-2')
  await troupe.redis.hset(`${troupe.tag}:w:${session.rootId}`, 'atOnce', '1 0 1')
  const { findings } = await troupe.client.audit()
  expect(findings).toMatchObject([
    { workerId: session.rootId, what: expect.stringContaining(`its child ${second?.id} waits to start`) as string },
  ])
})

test('a kind may spawn more children than the session lets run, if they wait to start; and no more than its own limit', async () => {
  const child = defineWorker({ receive: (message, self) => self.reply(message.kind === 'input' && message.value) })
  const workers = { parent: parentOf(50), bounded: parentOf(2, { limits: { children: 4 } }), child }
  await using troupe = await TestTroupe.start({ workers })
  const most = { limits: { children: 3 } }
  const result = await troupe.run('parent', { children: 40 }, most)
  expect(result).toMatchObject({ value: Array.from({ length: 40 }, (_, index) => index + 1) })
  expect(await troupe.run('bounded', { children: 5 }, most)).toMatchObject({
    status: 'failed',
    failure: {
      code: 'children_exceeded',
      message: expect.stringMatching(/its kind "bounded" allows 4 children/) as string,
    },
  })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a worker waits for 1 000 children at most, however few of them run at once, and is told so', async () => {
  const child = defineWorker({ receive: (_, self) => self.after(60_000, null) })
  const parent = defineWorker<number>({
    initial: 0,
    childrenAtOnce: 1,
    receive(_, self) {
      const most = Math.min(1_001, self.state + 400)
      for (let count = self.state; count < most; count++) self.spawn('child', 1)
      self.setState(most)
      self.after(0, null)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { parent, child } })
  expect(await troupe.run('parent', 1, { limits: { workers: 2_000 } })).toMatchObject({
    status: 'failed',
    failure: {
      code: 'children_exceeded',
      message: expect.stringContaining('allows a worker 1000 children') as string,
    },
  })
})

test('an agent has as many children at once as its kind says, and its model learns what its kind does not allow', async () => {
  const held = new Held()
  const tasks = (count: number) => ({
    tasks: Array.from({ length: count }, (_, at) => ({ kind: 'child', input: at + 1 })),
  })
  const lead = defineWorker({
    instructions: 'You lead.',
    model: recordedModel('test/one', [
      call('spawn_workers', tasks(4), 'a'),
      call('spawn_workers', tasks(3), 'b'),
      say('done'),
    ]),
    spawns: ['child'],
    childrenAtOnce: 2,
    limits: { children: 3 },
  })
  await using troupe = await TestTroupe.start({ workers: { lead, child: held.child } })
  const session = await troupe.create('lead', 'go')
  await waitUntil('two children have started', () => held.started.length === 2)
  for (const number of [2, 3, 1]) await held.end(number)
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'done' } })
  expect([held.most, held.order(2)]).toEqual([2, [1, 2, 3]])
  const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
  expect(results).toMatchObject([
    { status: 'error', output: { value: expect.stringMatching(/kind "lead" allows 3 children/) } },
    { status: 'ok' },
  ])
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a kind may not spawn below the depth that it declares', async () => {
  const deep = defineWorker({
    limits: { depth: 2 },
    receive(message, self) {
      if (message.kind === 'result') self.reply(message.status === 'failed' ? message.failure.code : message.value)
      else self.spawn('deep', null)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { deep } })
  expect(await troupe.run('deep')).toMatchObject({ value: 'depth_exceeded' })
})

test('self.limits says what the kind allows, within what the session allows', async () => {
  const kind = defineWorker({
    limits: { children: 7, depth: 60 },
    receive: (_, self) => self.reply([self.limits.children, self.limits.depth]),
  })
  await using troupe = await TestTroupe.start({ workers: { kind } })
  expect(await troupe.run('kind')).toMatchObject({ value: [7, 5] })
  expect(await troupe.run('kind', null, { limits: { children: 3 } })).toMatchObject({ value: [3, 5] })
})

test('a cancelled session starts none of the children that wait', async () => {
  const held = new Held()
  await using troupe = await TestTroupe.start({ workers: { parent: parentOf(1), child: held.child } })
  const session = await troupe.create('parent', { children: 3 })
  await waitUntil('the first child has started', () => held.started.length === 1)
  await session.cancel()
  expect(await session.result()).toMatchObject({ status: 'cancelled' })
  await waitUntil('it is so', async () => (await session.summary()).state === 'cancelled')
  expect(held.started).toEqual([1])
  expect((await session.report()).workers.map(({ status }) => status)).toEqual(Array(4).fill('terminal'))
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a child that is cancelled while it waits frees no place, and its parent learns of it', async () => {
  const held = new Held()
  await using troupe = await TestTroupe.start({ workers: { parent: parentOf(1), child: held.child } })
  const session = await troupe.create('parent', { children: 3 })
  await waitUntil('the first child has started', () => held.started.length === 1)
  const second = await statusOf(session, 'child-2')
  await troupe.client.workers.get(second?.id ?? '').cancel('not needed')
  await waitUntil('it is so', async () => (await statusOf(session, 'child-2'))?.status === 'terminal')
  expect(held.started).toEqual([1])
  await held.end(1)
  await held.end(3)
  expect(await session.result()).toMatchObject({ value: [1, 'cancelled', 3] })
  expect(held.started).toEqual([1, 3])
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a child that is cancelled while it runs makes room for the next one', async () => {
  const held = new Held()
  await using troupe = await TestTroupe.start({ workers: { parent: parentOf(1), child: held.child } })
  const session = await troupe.create('parent', { children: 2 })
  await waitUntil('the first child has started', () => held.started.length === 1)
  await troupe.client.workers.get((await statusOf(session, 'child-1'))?.id ?? '').cancel('not needed')
  await held.end(2)
  expect(await session.result()).toMatchObject({ value: ['cancelled', 2] })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a paused session starts none of the children that wait before it is resumed', async () => {
  const held = new Held()
  await using troupe = await TestTroupe.start({ workers: { parent: parentOf(1), child: held.child } })
  const session = await troupe.create('parent', { children: 2 })
  await waitUntil('the first child has started', () => held.started.length === 1)
  await session.pause('lunch')
  await held.end(1)
  await waitUntil('it is so', async () => (await statusOf(session, 'child-1'))?.status === 'idle')
  expect(held.started).toEqual([1])
  await session.resume()
  await held.end(2)
  expect(await session.result()).toMatchObject({ value: [1, 2] })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a parent that replies while children wait leaves none of them behind, and its next run counts anew', async () => {
  const held = new Held()
  const parent = defineWorker({
    childrenAtOnce: 1,
    receive(message, self) {
      if (message.kind === 'input') for (const child of [1, 2, 3]) self.spawn('child', self.run * 10 + child)
      else self.reply('enough')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { parent, child: held.child } })
  const session = await troupe.create('parent', null, { keepOpen: true })
  await held.end(11)
  expect(await session.result({ run: 1 })).toMatchObject({ value: 'enough' })
  await session.root.send(null)
  await held.end(21)
  expect(await session.result({ run: 2 })).toMatchObject({ value: 'enough' })
  expect(held.started.filter((number) => number > 20 && number !== 22)).toEqual([21])
  await waitUntil('it is so', async () =>
    (await session.report()).workers.slice(1).every(({ status }) => status !== 'parked'),
  )
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('messages to a child that waits to start are received when it has started, after its input', async () => {
  const received: unknown[] = []
  const held = new Held()
  const listener = defineWorker({
    receive(message, self) {
      if (message.kind === 'input') received.push(message.value)
      self.reply(null)
    },
  })
  const parent = defineWorker({
    childrenAtOnce: 1,
    receive(message, self) {
      if (message.kind === 'input') {
        self.spawn('child', 1)
        self.send(self.spawn('listener', 'input'), 'with the spawn')
      } else if (self.openChildren === 0) self.reply('done')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { parent, listener, child: held.child } })
  const session = await troupe.create('parent', null, { keepOpen: true })
  await waitUntil('the first child has started', () => held.started.length === 1)
  await waitUntil('it is so', async () => (await session.report()).workers.length === 3)
  const [waiting] = (await session.report()).workers.filter(({ kind }) => kind === 'listener')
  await troupe.client.workers.get(waiting?.id ?? '').send('later')
  expect(received).toEqual([])
  await held.end(1)
  await session.result({ run: 1 })
  await waitUntil('it is so', () => received.length === 3)
  expect(received).toEqual(['input', 'with the spawn', 'later'])
  await expectInvariants(troupe.redis, troupe.namespace)
})
