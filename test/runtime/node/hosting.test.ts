/** Which node runs what: kinds that nobody hosts yet, pools, and kinds that nobody hosts any more. */
import { describe, expect, test } from 'vitest'
import { startNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Waker } from '../../../src/core/ports/wake.ts'
import { partitionKeys, workerKeys } from '../../../src/store/keys.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

describe('a kind', () => {
  test('a kind that no node ever hosted waits, with a warning, until one does', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('newcomer', 'early')
    expect(session.warning).toContain('newcomer')
    expect((await troupe.client.health()).unhosted).toMatchObject([{ id: session.rootId, kind: 'newcomer' }])
    await troupe.startNode({ other: echo })
    const waitsFor = 'a node that hosts newcomer'
    expect((await session.report()).workers[0]).toMatchObject({ status: 'queued', waitsFor })
    await troupe.startNode({ newcomer: echo })
    expect(await session.result()).toMatchObject({ status: 'completed', value: 'early' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a kind that no node ever hosted may be spawned: the child waits too', async () => {
    const spawner = defineWorker({
      receive: (message, self) =>
        message.kind === 'input' ? void self.spawn('newcomer', 'child') : self.reply(message.value),
    })
    await using troupe = await TestTroupe.start({ workers: { spawner } })
    const session = await troupe.create('spawner')
    await waitUntil('it waits for the child', async () => (await session.root.report()).status === 'parked')
    await troupe.startNode({ newcomer: echo })
    expect(await session.result()).toMatchObject({ status: 'completed', value: 'child' })
  })

  test.each([
    ['that wakes few', 0],
    ['whose workers stand ahead of the clock, as it has woken so many', 600_000],
  ])(
    'a kind that only one node hosts runs there, though slots of another are never without work: in a session %s',
    async (_, aheadMs) => {
      let [turns, isTime, hasRun] = [0, false, false]
      const endless = defineWorker({
        receive(_, self) {
          turns++
          if (isTime) self.spawn('elsewhere', null, { detached: true })
          isTime = false
          self.send(self.id, null)
        },
      })
      const elsewhere = defineWorker({
        receive() {
          hasRun = true
        },
      })
      await using troupe = await TestTroupe.connect()
      // While these slots are awake, the wake-up rule adds no wake-up: they pass over only one worker.
      const policy = { turnSliceSteps: 5, wakeupMs: 1_000, wakeupJobMs: 600_000 }
      await troupe.startNode({ endless }, { concurrency: 3, policy })
      await troupe.startNode({ elsewhere }, { policy })
      const sessions = await Promise.all([1, 2, 3].map(() => troupe.create('endless')))
      await waitUntil('no wake-up of theirs is under way', () => turns > 3_000)
      for (const { rootId } of sessions)
        await troupe.redis.hset(workerKeys(troupe.tag, rootId).record, 'score', Date.now() + aheadMs)
      isTime = true
      expect(await waitUntil('the child has run', () => hasRun)).toBe(true)
    },
  )

  test('a kind with a pool of its own runs only on the nodes of that pool, also as a child', async () => {
    const ran: string[] = []
    const kinds = (node: string) => ({
      plain: defineWorker({
        receive(message, self) {
          ran.push(`plain on ${node}`)
          if (message.kind === 'input') self.spawn('heavy', null)
          else self.reply(message.value)
        },
      }),
      heavy: defineWorker({
        pool: 'gpu',
        receive(_, self) {
          ran.push(`heavy on ${node}`)
          self.reply('computed')
        },
      }),
    })
    await using troupe = await TestTroupe.connect()
    const options = { redisUrl: troupe.redisUrl, namespace: troupe.namespace }
    await using first = await startNode({ ...options, workers: kinds('first'), pools: ['default'] })
    await using second = await startNode({ ...options, workers: kinds('second'), pools: ['gpu'] })
    expect([first.kinds, second.kinds]).toEqual([['plain'], ['heavy']])
    for (let number = 0; number < 5; number++) expect(await troupe.run('plain')).toMatchObject({ value: 'computed' })
    expect(new Set(ran)).toEqual(new Set(['plain on first', 'heavy on second']))
  })

  test('a kind that is hosted waits for a free slot', async () => {
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: { slow: defineWorker({ receive: () => over }) },
      concurrency: 1,
    })
    const running = await troupe.create('slow')
    await waitUntil('it runs', async () => (await running.root.report()).status === 'running')
    const waiting = await troupe.create('slow')
    expect(await waiting.root.report()).toMatchObject({ status: 'queued', waitsFor: 'a free slot' })
    expect((await running.root.report()).waitsFor).toBeNull()
    end()
  })

  test('a kind that no node hosts any more does not keep others of its pool from running, however many wait', async () => {
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode({ retired: echo })
    expect(await troupe.run('retired', 1)).toMatchObject({ value: 1 })
    await first.stop()
    const waiting = await Promise.all(Array.from({ length: 120 }, () => troupe.create('retired')))
    await troupe.startNode({ current: echo })
    const session = await troupe.create('current', 'through')
    const result = await awaitResult(session)
    expect(result).toMatchObject({ status: 'completed', value: 'through' })
    expect((await waiting[0]?.report())?.workers[0]?.status).toBe('queued')
  })
})

describe('a node of some pools', () => {
  const workers = { plain: echo, heavy: defineWorker({ pool: 'gpu', receive: () => undefined }) }

  test.each([
    [['other'], /^no worker kind is in the pool "other": the pools are default, gpu\.$/],
    [['default', 'gpus'], /^no worker kind is in the pool "gpus": .*Did you mean gpu\?$/],
  ])('a node of pools with kinds %j, of which one is in no pool, does not start', async (pools, told) => {
    await using troupe = await TestTroupe.connect()
    const { redisUrl, namespace } = troupe
    await expect(startNode({ redisUrl, namespace, workers, pools })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(told),
    })
  })

  test('a node of some pools needs no key for the models of another', async () => {
    await using troupe = await TestTroupe.connect()
    const agent = defineWorker({ pool: 'gpu', instructions: 'x', model: 'openai/gpt-5' })
    const options = { redisUrl: troupe.redisUrl, namespace: troupe.namespace, models: { env: {} } }
    await using node = await startNode({ ...options, workers: { plain: echo, agent }, pools: ['default'] })
    expect(node.kinds).toEqual(['plain'])
    await expect(startNode({ ...options, workers: { plain: echo, agent } })).rejects.toThrow(/set OPENAI_API_KEY/)
  })
})

describe('a node', () => {
  test('a node can be stopped twice without harm and leaves the register', async () => {
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode({ echo })
    expect(await troupe.client.nodes()).toMatchObject([{ id: node.id, kinds: ['echo'], pools: ['default'] }])
    await Promise.all([node.stop(), node.stop()])
    await node.stop({ force: true })
    expect(await troupe.client.nodes()).toEqual([])
  })

  test('a node that drains finishes the message in hand and takes no other', async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const seen: unknown[] = []
    await using troupe = await TestTroupe.connect()
    const workers = {
      slow: defineWorker({
        async receive(message, self) {
          seen.push(message.value)
          begun.resolve()
          if (message.value === 1) await gate.promise
          self.reply(message.value)
        },
      }),
    }
    const session = await troupe.create('slow', 1, { keepOpen: true })
    await session.root.send(2)
    const node = await troupe.startNode(workers)
    await begun.promise
    const stopped = node.stop()
    gate.resolve()
    await stopped
    expect(await session.result({ run: 1 })).toMatchObject({ value: 1 })
    expect(await session.root.report()).toMatchObject({ status: 'queued', mailbox: { pending: 1 } })
    expect(seen).toEqual([1])
    await troupe.startNode(workers)
    expect(await session.result({ run: 2 })).toMatchObject({ value: 2 })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a node that is stopped by force releases what its handlers do not end, at once', async () => {
    const begun = Promise.withResolvers<void>()
    const attempts: number[] = []
    const reasons: unknown[] = []
    let gated = true
    await using troupe = await TestTroupe.connect()
    const workers = {
      deaf: defineWorker({
        async receive(_, self) {
          attempts.push(self.attempt)
          self.signal.addEventListener('abort', () => reasons.push(self.signal.reason))
          begun.resolve()
          if (gated) await new Promise(() => {})
          self.reply('done')
        },
      }),
    }
    const node = await troupe.startNode(workers, {
      policy: { leaseMs: 600_000, leaseMarginMs: 1_000, renewEveryMs: 200_000 },
    })
    const session = await troupe.create('deaf')
    await begun.promise
    await node.stop({ force: true })
    gated = false
    expect(reasons).toMatchObject([{ code: 'lease_lost' }])
    await troupe.startNode(workers)
    expect(await awaitResult(session)).toMatchObject({ value: 'done' })
    expect(attempts).toEqual([1, 1])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a node runs no more turns at once than it has slots', async () => {
    let running = 0
    let most = 0
    await using troupe = await TestTroupe.start({
      concurrency: 3,
      workers: {
        slow: defineWorker({
          async receive(_, self) {
            most = Math.max(most, ++running)
            await waitUntil('all slots were taken at once', () => most >= 3)
            await new Promise((resolve) => setTimeout(resolve, 20))
            running--
            self.reply(null)
          },
        }),
      },
    })
    const sessions = await Promise.all(Array.from({ length: 30 }, () => troupe.create('slow')))
    await Promise.all(sessions.map((session) => session.result()))
    expect(most).toBe(3)
  })
})

describe('a wake-up', () => {
  /** A node that the test wakes by hand, with a turn that goes on until the test opens the gate. */
  async function busyNode(troupe: TestTroupe, concurrency: number) {
    const gate = Promise.withResolvers<void>()
    const seen: unknown[] = []
    const slow = defineWorker({
      async receive(message) {
        seen.push(message.value)
        await gate.promise
      },
    })
    let waker: Waker | undefined
    const node = await troupe.startNode(
      { slow },
      { concurrency, wakeups: 'in-process', onWaker: (made) => (waker = made), policy: { sweepEveryMs: 600_000 } },
    )
    const wake = () => waker?.wake(0, [{ id: 'by hand', pool: 'default' }])
    const first = await troupe.create('slow', 'first')
    wake()
    await waitUntil('the first runs', () => seen.length === 1)
    const second = await troupe.create('slow', 'second')
    // The answering code asks Redis at once, before the next request.
    const claims = async () => {
      wake()
      wake()
      expect((await second.root.report()).status).toBe('queued')
      return troupe.redis.hget(workerKeys(troupe.tag, second.rootId).record, 'token')
    }
    return { node, seen, gate, first, second, claims }
  }

  test('a wake-up that finds no free slot is dropped: awake slots claim the work', async () => {
    await using troupe = await TestTroupe.connect()
    const { seen, gate, first, second, claims } = await busyNode(troupe, 1)
    expect(await claims()).toBeNull()
    gate.resolve()
    for (const session of [first, second]) expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual(['first', 'second'])
  })

  test('a wake-up is not answered by a node that drains, even if it has free slots (NODE-1)', async () => {
    await using troupe = await TestTroupe.connect()
    const { node, seen, gate, first, claims } = await busyNode(troupe, 3)
    const stopped = node.stop()
    expect(await claims()).toBeNull()
    gate.resolve()
    await stopped
    expect(await first.result()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual(['first'])
  })
})

describe('a burst of short turns', () => {
  test('a burst of short turns is reported at once, so that later work needs fewer wake-ups', async () => {
    const workersPerWakeOfBurst = async () => {
      // No other sweep is due within the test.
      await using troupe = await TestTroupe.start({ workers: { echo }, policy: { sweepEveryMs: 600_000 } })
      const workersPerWake = partitionKeys(troupe.tag).workersPerWake('default')
      expect(await troupe.redis.get(workersPerWake)).toBeNull()
      await Promise.all(Array.from({ length: 40 }, (_, number) => troupe.run('echo', number)))
      return await waitUntil('the workers per wake-up are known', () => troupe.redis.get(workersPerWake))
    }
    // Turns are not short if a busy machine held some of them up.
    await waitUntil('a burst was one of short turns', async () => Number(await workersPerWakeOfBurst()) > 1)
  })
})

describe('a node that cannot start', () => {
  test('a node that cannot start leaves nothing behind that listens, sweeps or holds a connection', async () => {
    await using troupe = await TestTroupe.connect()
    const inbox = `half-${troupe.namespace}`
    // It may do all but listen for cancels.
    await troupe.redis.acl('SETUSER', inbox, 'on', 'nopass', '~*', '&*', '+@all', '-subscribe')
    const url = new URL(troupe.redisUrl)
    url.username = inbox
    url.password = 'any'
    const clients = async () =>
      ((await troupe.redis.client('LIST')) as string).split('\n').filter((line) => line.includes(` user=${inbox} `))
    try {
      const starting = startNode({ redisUrl: url.href, namespace: troupe.namespace, workers: { echo } })
      await expect(starting).rejects.toThrow(/NOPERM/)
      await waitUntil('all its connections are closed', async () => (await clients()).length === 0)
      expect(await troupe.client.nodes()).toEqual([])
    } finally {
      await troupe.redis.acl('DELUSER', inbox)
    }
  })
})
