/** A node whose turns are short: a slot goes on with the children of the turn that it ended. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { newId } from '../../../src/core/ids.ts'
import type { TurnStore } from '../../../src/core/ports/ports.ts'
import { changedStore } from '../../support/changed-store.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe, type TestTroupeOptions } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const quick = defineWorker({ receive: (message, self) => self.reply(message.value) })

const parent = defineWorker({
  state: z.object({ values: z.array(z.unknown()) }),
  initial: { values: [] },
  await: 'all',
  receive(message, self) {
    if (message.kind === 'input') {
      const { kind, inputs } = message.value as { kind: string; inputs: unknown[] }
      for (const input of inputs) self.spawn(kind, input)
      return
    }
    const values = [...self.state.values, message.kind === 'result' ? (message.failure?.code ?? message.value) : null]
    self.setState({ values })
    if (self.openChildren === 0) self.reply(values)
  },
})

/** A node that has run short turns, and knows it. */
async function startShort({ workers, ...options }: TestTroupeOptions): Promise<TestTroupe> {
  const troupe = await TestTroupe.start({ workers: { quick, parent, ...workers }, ...options })
  await waitUntil('turns are known to be short', async () => {
    await troupe.run('quick', 1)
    return Number(await troupe.redis.get(`${troupe.tag}:per-wake:default`)) > 1
  })
  return troupe
}

/** The child of input 0 waits for the gate, the others do not. */
function gatedKind() {
  const gate = Promise.withResolvers<void>()
  const gated = defineWorker({
    async receive(message, self) {
      if (message.value === 0) await gate.promise
      self.reply(message.value)
    },
  })
  return { gate, gated }
}

/** The slot releases no child because another one takes long, however busy this machine is. */
const patient = { inlineChildrenMs: 600_000 }

/** A busy wake-up that nobody takes out stays there. */
const neverStale = { leaseMs: 600_000, renewEveryMs: 600_000, leaseMarginMs: 1_000 }

/** Counts the children that slots took last without a claim and that have committed. */
async function taken(troupe: TestTroupe): Promise<number> {
  const nodes = await troupe.redis.keys(`${troupe.tag}:claims:*`)
  const held = await Promise.all(nodes.map((node) => troupe.redis.hgetall(node)))
  const nonces = held.flatMap((slots) => Object.keys(slots).flatMap((slot) => (slot.endsWith('+') ? slots[slot] : [])))
  const records = (await troupe.redis.keys(`${troupe.tag}:w:*`)).filter((key) => /:w:[\da-f-]+$/.test(key))
  const commits = await Promise.all(records.map((record) => troupe.redis.hget(record, 'commit')))
  return commits.filter((commit) => nonces.some((nonce) => commit?.startsWith(`1:${nonce}:`))).length
}

const ten = Array.from({ length: 10 }, (_, index) => index)

describe('a node of short turns', () => {
  test('a node of short turns runs the children of a turn with the slot that it ended on, and gives their results in order', async () => {
    await using troupe = await startShort({ workers: {}, concurrency: 1, policy: patient })
    expect(await troupe.run('parent', { kind: 'quick', inputs: ten })).toMatchObject({ value: ten })
    expect(await taken(troupe)).toBeGreaterThan(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a turn that has gone on to a later run than it was claimed for has its children run by its slot too', async () => {
    const gate = Promise.withResolvers<void>()
    const hold = defineWorker({
      async receive(_, self) {
        await gate.promise
        self.reply(null)
      },
    })
    await using troupe = await startShort({ workers: { hold }, concurrency: 1 })
    await troupe.create('hold')
    const session = await troupe.create('parent', { kind: 'quick', inputs: [] }, { keepOpen: true })
    await session.root.send({ kind: 'quick', inputs: ten })
    gate.resolve()
    expect(await awaitResult(session, { run: 2 })).toMatchObject({ value: ten })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a node of short turns runs the children one after another', async () => {
    let running = 0
    let most = 0
    const slow = defineWorker({
      async receive(message, self) {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 2))
        running--
        self.reply(message.value)
      },
    })
    await using troupe = await startShort({ workers: { slow }, concurrency: 1, policy: patient })
    expect(await troupe.run('parent', { kind: 'slow', inputs: ten })).toMatchObject({ value: ten })
    expect(most).toBe(1)
    expect(await taken(troupe)).toBeGreaterThan(1)
  })

  test('a node of short turns lets no child wait for one that takes long: other slots run those that have not begun', async () => {
    const { gate, gated } = gatedKind()
    await using troupe = await startShort({ workers: { gated }, concurrency: 4 })
    const session = await troupe.create('parent', { kind: 'gated', inputs: ten })
    const results = `${troupe.tag}:w:${session.rootId}:mail:results`
    await waitUntil('all others have ended', async () => (await troupe.redis.llen(results)) === 9)
    gate.resolve()
    expect(await awaitResult(session)).toMatchObject({ value: ten })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a node of short turns lets no child stop another: one throws and is retried, one fails for good', async () => {
    let tries = 0
    const moody = defineWorker({
      retries: 1,
      receive(message, self) {
        if (message.value === 3) return self.fail('never')
        if (message.value === 5 && ++tries === 1) throw new Error('not yet')
        self.reply(message.value)
      },
    })
    await using troupe = await startShort({ workers: { moody }, concurrency: 2 })
    const values = ten.map((value) => (value === 3 ? 'run_failed' : value))
    expect(await troupe.run('parent', { kind: 'moody', inputs: ten })).toMatchObject({ value: values })
    expect(tries).toBe(2)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a node of short turns begins no child of a session that was cancelled (I12)', async () => {
    const begun: unknown[] = []
    const entered = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    let signal: AbortSignal | undefined
    const watched = defineWorker({
      async receive(message, self) {
        begun.push(message.value)
        signal ??= self.signal
        entered.resolve()
        await gate.promise
        self.reply(message.value)
      },
    })
    await using troupe = await startShort({ workers: { watched }, concurrency: 1, policy: patient })
    const session = await troupe.create('parent', { kind: 'watched', inputs: ten })
    await entered.promise
    await session.cancel('enough')
    await waitUntil('the child that runs was told', () => signal?.aborted === true)
    gate.resolve()
    expect(await awaitResult(session)).toMatchObject({ status: 'cancelled' })
    await waitUntil('all have ended', async () => (await session.report()).workers.every(({ run }) => run === 'Idle'))
    expect(begun).toEqual([0])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a node of short turns runs no child of a run that ended with the step that spawned it: the child is cancelled at once', async () => {
    const begun: unknown[] = []
    const watched = defineWorker({
      receive(message, self) {
        begun.push(message.value)
        self.reply(message.value)
      },
    })
    const hasty = defineWorker({
      receive(_, self) {
        for (const value of [0, 1, 2]) self.spawn('watched', value)
        self.reply('done')
      },
    })
    await using troupe = await startShort({ workers: { watched, hasty }, concurrency: 1 })
    expect(await troupe.run('hasty')).toMatchObject({ value: 'done' })
    await expectInvariants(troupe.redis, troupe.namespace)
    expect(begun).toEqual([])
  })

  test('a node of short turns runs one handler at a time even if the end of one is refused, and claims when all are over', async () => {
    let running = 0
    let most = 0
    const gate = Promise.withResolvers<void>()
    const wild = defineWorker({
      async receive(message, self) {
        most = Math.max(most, ++running)
        if (message.value === 0) self.send(newId(0), 'nobody')
        else await new Promise((resolve) => setTimeout(resolve, 20))
        if (message.value === 1) await gate.promise
        running--
        self.reply(message.value)
      },
    })
    await using troupe = await startShort({ workers: { wild }, concurrency: 1, policy: patient })
    const session = await troupe.create('parent', { kind: 'wild', inputs: [0, 1, 2] })
    await waitUntil('the second runs', () => running === 1 && most === 1)
    const other = await troupe.create('quick', 7)
    gate.resolve()
    expect(await awaitResult(session)).toMatchObject({
      value: ['worker_not_found', 1, 2],
    })
    expect(await awaitResult(other)).toMatchObject({ value: 7 })
    expect(most).toBe(1)
  })

  test('a node of short turns claims nothing while a child takes long, even after it released the others', async () => {
    const { gate, gated } = gatedKind()
    await using troupe = await startShort({ workers: { gated }, concurrency: 1, policy: neverStale })
    const session = await troupe.create('parent', { kind: 'gated', inputs: [0, 1, 2] })
    const other = await troupe.create('quick', 7)
    const queue = `${troupe.tag}:run:default`
    await waitUntil('all others are in the run queue', async () => (await troupe.redis.zcard(queue)) === 3)
    expect(await troupe.redis.zscore(queue, other.rootId)).not.toBeNull()
    gate.resolve()
    expect(await awaitResult(session)).toMatchObject({ value: [0, 1, 2] })
    expect(await awaitResult(other)).toMatchObject({ value: 7 })
  })

  test('a node of short turns begins no child of a turn that a cancel gave up while its commit was on its way (I12)', async () => {
    const begun: unknown[] = []
    const watched = defineWorker({
      receive(message, self) {
        begun.push(message.value)
        self.reply(message.value)
      },
    })
    let signal: AbortSignal | undefined
    const told = defineWorker({
      receive(message, self) {
        signal = self.signal
        for (const value of message.value as number[]) self.spawn('watched', value)
      },
    })
    let cancel: (() => Promise<void>) | undefined
    const held = (turns: TurnStore): TurnStore =>
      changedStore(turns, {
        async commit(request) {
          const answer = await turns.commit(request)
          if (answer.kind === 'ok' && answer.assigned !== undefined) await cancel?.()
          return answer
        },
      })
    await using troupe = await startShort({ workers: { watched, told }, concurrency: 1, aroundTurns: held })
    const created = Promise.withResolvers<void>()
    cancel = async () => {
      await created.promise
      await session.cancel('enough')
      await waitUntil('the turn was told', () => signal?.aborted === true)
    }
    const session = await troupe.create('told', ten)
    created.resolve()
    expect(await awaitResult(session)).toMatchObject({ status: 'cancelled' })
    await expectInvariants(troupe.redis, troupe.namespace)
    expect(begun).toEqual([])
  })

  test('a node of short turns leaves no wake-up among the busy ones when a child took long', async () => {
    const { gate, gated } = gatedKind()
    await using troupe = await startShort({ workers: { gated }, concurrency: 2, policy: neverStale })
    const session = await troupe.create('parent', { kind: 'gated', inputs: ten })
    const busy = `${troupe.tag}:busy:default`
    await waitUntil('its wake-up is busy', async () => (await troupe.redis.zcard(busy)) > 0)
    gate.resolve()
    expect(await awaitResult(session)).toMatchObject({ value: ten })
    await waitUntil('no wake-up is busy', async () => (await troupe.redis.zcard(busy)) === 0)
  })

  test('a node of short turns releases children of a commit that was not answered, so that they need not wait for the end of their leases (0015)', async () => {
    let isLost = false
    const losing = (turns: TurnStore): TurnStore =>
      changedStore(turns, {
        async commit(request) {
          const answer = await turns.commit(request)
          if (isLost || answer.kind !== 'ok' || answer.assigned === undefined) return answer
          isLost = true
          throw new TransientError('no answer', { code: 'store_unavailable' })
        },
      })
    const policy = { leaseMs: 600_000, renewEveryMs: 600_000, leaseMarginMs: 1_000, wakeupMs: 300 }
    await using troupe = await startShort({ workers: {}, concurrency: 1, aroundTurns: losing, policy })
    expect(await troupe.run('parent', { kind: 'quick', inputs: ten })).toMatchObject({ value: ten })
    expect(isLost).toBe(true)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a node that stops releases children that have not begun, and another node runs them', async () => {
    const entered = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const gated = defineWorker({
      async receive(message, self) {
        entered.resolve()
        await gate.promise
        self.reply(message.value)
      },
    })
    await using troupe = await startShort({ workers: { gated }, concurrency: 1, policy: patient })
    const first = troupe.nodes[0]
    const session = await troupe.create('parent', { kind: 'gated', inputs: ten })
    await entered.promise
    const stopping = first?.stop()
    gate.resolve()
    await stopping
    await troupe.startNode({ quick, parent, gated })
    expect(await awaitResult(session)).toMatchObject({ value: ten })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a node that stops while a child takes long leaves no wake-up behind', async () => {
    const { gate, gated } = gatedKind()
    await using troupe = await startShort({ workers: { gated }, concurrency: 2 })
    const session = await troupe.create('parent', { kind: 'gated', inputs: [0, 1, 2] })
    const [busy, wakeups] = [`${troupe.tag}:busy:default`, `${troupe.tag}:wakeups:default`]
    await waitUntil('its wake-up is busy', async () => (await troupe.redis.zcard(busy)) > 0)
    const results = `${troupe.tag}:w:${session.rootId}:mail:results`
    await waitUntil('the others have ended', async () => (await troupe.redis.llen(results)) === 2)
    const stopping = troupe.nodes[0]?.stop()
    gate.resolve()
    await stopping
    expect(await troupe.redis.zcard(busy)).toBe(0)
    await troupe.redis.zremrangebyscore(wakeups, '-inf', `(${Date.now()}`)
    await troupe.startNode({ quick, parent, gated })
    expect(await awaitResult(session)).toMatchObject({ value: [0, 1, 2] })
  })

  test('a node of short turns claims queued workers between two such turns, also with one slot', async () => {
    await using troupe = await startShort({ workers: {}, concurrency: 1 })
    const trees = ten.map(() => troupe.run('parent', { kind: 'quick', inputs: ten }))
    const others = ten.map((value) => troupe.run('quick', value))
    expect(await Promise.all([...trees, ...others])).toMatchObject([
      ...ten.map(() => ({ value: ten })),
      ...ten.map((value) => ({ value })),
    ])
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})

test('a node of long turns leaves children to the slots of all nodes', async () => {
  const long = defineWorker({
    async receive(message, self) {
      await new Promise((resolve) => setTimeout(resolve, 110))
      self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { long, parent }, concurrency: 10 })
  expect(await troupe.run('parent', { kind: 'long', inputs: ten })).toMatchObject({ value: ten })
  expect(await troupe.run('parent', { kind: 'long', inputs: ten })).toMatchObject({ value: ten })
  expect(await taken(troupe)).toBe(0)
})
