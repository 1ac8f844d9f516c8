/** Workers that spawn workers: results in call order, failures apart, a parked parent that holds no slot. */
import { describe, expect, test } from 'vitest'
import { defineWorker, type Self } from '../../../src/core/definition/define-worker.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import type { ResultMessage } from '../../../src/core/worker/message/message.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const brief = ({ call, status, value, failure, name }: ResultMessage) => ({
  call,
  status,
  value,
  name,
  code: failure?.code,
})

/** Spawns the children that it is told to, and replies what came back, in the order in which it came. */
const parent = defineWorker<unknown[]>({
  initial: [],
  receive(message, self) {
    if (message.kind === 'input') for (const child of message.value as [string, unknown][]) self.spawn(...child)
    if (message.kind === 'result') {
      self.setState([...self.state, brief(message)])
      if (self.openChildren === 0) self.reply(self.state)
    }
  },
})
const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

describe('spawn', () => {
  test('results of children come in call order, whatever order the children end in', async () => {
    const gates = new Map([1, 2, 3].map((number) => [number, Promise.withResolvers<void>()]))
    const ended: number[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        parent,
        gated: defineWorker({
          async receive(message, self) {
            const number = message.value as number
            await gates.get(number)?.promise
            self.reply(number)
            ended.push(number)
          },
        }),
      },
    })
    const session = await troupe.create(
      'parent',
      [1, 2, 3].map((number) => ['gated', number]),
    )
    for (const number of [3, 2, 1]) {
      gates.get(number)?.resolve()
      await waitUntil(`child ${number} has ended`, async () => {
        const { workers } = await session.report()
        return workers.find(({ name }) => name === `gated-${number}`)?.lifecycle === 'idle'
      })
    }
    const result = await session.result()
    expect(ended).toEqual([3, 2, 1])
    expect(result).toMatchObject({ status: 'completed', value: [{ value: 1 }, { value: 2 }, { value: 3 }] })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a failed child is a result like others: its siblings and its parent go on', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        parent,
        echo,
        broken: defineWorker({
          receive() {
            throw new TerminalError('broken')
          },
        }),
      },
    })
    const result = await troupe.run('parent', [
      ['echo', 'a'],
      ['broken', 0],
      ['echo', 'b'],
    ])
    expect(result).toMatchObject({
      status: 'completed',
      value: [
        { call: 1, status: 'completed', value: 'a' },
        { call: 2, status: 'failed', value: null, code: 'run_failed' },
        { call: 3, status: 'completed', value: 'b' },
      ],
    })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a parent that waits holds no slot: a node of one slot runs three generations', async () => {
    await using troupe = await TestTroupe.start({
      concurrency: 1,
      workers: {
        tree: defineWorker<number>({
          initial: 1,
          receive(message, self) {
            if (message.kind === 'input') {
              if (message.value === 0) return self.reply(1)
              for (let child = 0; child < 2; child++) self.spawn('tree', (message.value as number) - 1)
            } else {
              self.setState(self.state + (message.value as number))
              if (self.openChildren === 0) self.reply(self.state)
            }
          },
        }),
      },
    })
    expect(await troupe.run('tree', 3)).toMatchObject({ status: 'completed', value: 15 })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a worker that waits for a child says so in the report, and holds no lease', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        parent,
        gated: defineWorker({
          async receive(_, self) {
            await gate.promise
            self.reply('late')
          },
        }),
      },
    })
    const session = await troupe.create('parent', [['gated', 1]])
    const root = await waitUntil('the parent is parked', async () => {
      const { workers } = await session.report()
      return workers.find(({ id, status }) => id === session.rootId && status === 'parked')
    })
    expect(root).toMatchObject({
      lifecycle: 'busy',
      state: 'waiting',
      run: 'ExecutingTools',
      node: null,
      openChildren: 1,
    })
    expect(root.waitsFor).toContain('child number 1')
    expect(await troupe.redis.zscore(`${troupe.tag}:leases`, session.rootId)).toBeNull()
    gate.resolve()
    expect(await session.result()).toMatchObject({ status: 'completed' })
  })

  test.each<[string, (self: Self) => unknown, object]>([
    ['reply', (self) => self.reply('enough'), { status: 'completed', value: 'enough' }],
    ['fail', (self) => self.fail('enough'), { status: 'failed', failure: { message: 'enough' } }],
    ['throw', () => Promise.reject(new TerminalError('enough')), { status: 'failed', failure: { message: 'enough' } }],
  ])('a parent may %s early: children that still run are cancelled and their signals fire', async (_, end, result) => {
    const running = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
    const reasons: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        hasty: defineWorker({
          receive(message, self) {
            if (message.kind === 'input') {
              self.spawn('last', null)
              for (const number of running.keys()) self.spawn('endless', number)
            } else return end(self) as undefined
          },
        }),
        last: defineWorker({
          async receive(_, self) {
            await Promise.all(running.map(({ promise }) => promise))
            self.reply(null)
          },
        }),
        endless: defineWorker({
          receive(message, self) {
            running[message.value as number]?.resolve()
            return new Promise((_, reject) => {
              self.signal.addEventListener('abort', () => {
                reasons.push(self.signal.reason)
                reject(self.signal.reason as Error)
              })
            })
          },
        }),
      },
    })
    const session = await troupe.create('hasty')
    expect(await session.result()).toMatchObject(result)
    await waitUntil('all signals fired', () => reasons.length === 3)
    expect(reasons).toMatchObject([{ code: 'cancelled' }, { code: 'cancelled' }, { code: 'cancelled' }])
    const { workers } = await expectInvariants(troupe.redis, troupe.namespace)
    for (const { record, history } of [...workers.values()].filter(({ record }) => record.kind === 'endless')) {
      expect(record.status).toBe('terminal')
      expect(history.map(({ type }) => type)).toEqual(['cancelled'])
    }
  })

  test('children of a run are numbered on, in whatever step they are spawned', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        echo,
        again: defineWorker<unknown[]>({
          initial: [],
          receive(message, self) {
            if (message.kind === 'input') for (const value of ['a', 'b']) self.spawn('echo', value)
            if (message.kind !== 'result') return
            self.setState([...self.state, [message.call, message.name, message.value]])
            if (message.call === 2) for (const value of ['c', 'd', 'e']) self.spawn('echo', value)
            if (message.call === 5) self.reply(self.state)
          },
        }),
      },
    })
    const session = await troupe.create('again')
    expect(await session.result()).toMatchObject({
      status: 'completed',
      value: ['a', 'b', 'c', 'd', 'e'].map((value, index) => [index + 1, `echo-${index + 1}`, value]),
    })
    expect((await session.report()).workers).toHaveLength(6)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('children of a run that ends in the step that spawns them never start', async () => {
    const started: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        hasty: defineWorker({
          receive(_, self) {
            for (let number = 0; number < 5; number++) self.spawn('child', number)
            self.reply('enough')
          },
        }),
        child: defineWorker({ receive: (message) => void started.push(message.value) }),
      },
    })
    expect(await troupe.run('hasty')).toMatchObject({ status: 'completed', value: 'enough' })
    const { workers } = await expectInvariants(troupe.redis, troupe.namespace)
    expect(workers.size).toBe(6)
    expect([...workers.values()].filter(({ record }) => record.status === 'terminal')).toHaveLength(5)
    expect(started).toEqual([])
  })

  test('a detached child survives the end of its parent and posts no result', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        launcher: defineWorker({
          receive(message, self) {
            expect(message.kind).toBe('input')
            self.spawn('gated', null, { detached: true, name: 'apart' })
            self.reply(self.openChildren)
          },
        }),
        gated: defineWorker({
          async receive(_, self) {
            await gate.promise
            self.spawn('echo', 'grandchild')
            self.reply('done')
          },
        }),
        echo,
      },
    })
    const session = await troupe.create('launcher')
    expect(await session.result()).toMatchObject({ status: 'completed', value: 0 })
    gate.resolve()
    const child = await waitUntil('the detached child has ended', async () => {
      const { workers } = await session.report()
      return workers.find(({ name, runs, status }) => name === 'apart' && runs === 1 && status === 'idle')
    })
    expect((await troupe.history(child.id)).at(-1)).toMatchObject({ type: 'completed', value: 'done' })
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['received', 'completed'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('results that are larger than one claim hands out arrive in call order all the same', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      policy: { claimMailBytes: 2_000 },
      workers: {
        parent,
        gated: defineWorker({
          async receive(_, self) {
            await gate.promise
            self.reply('first')
          },
        }),
        big: defineWorker({ receive: (_, self) => self.reply('x'.repeat(3_000)) }),
      },
    })
    const session = await troupe.create('parent', [['gated', 0], ...Array.from({ length: 4 }, () => ['big', 0])])
    await waitUntil('four results wait', async () => {
      const { workers } = await session.report()
      return workers.find(({ id }) => id === session.rootId)?.mailbox.pending === 4
    })
    gate.resolve()
    const result = await awaitResult(session)
    expect(result).toMatchObject({ status: 'completed', value: [{ value: 'first' }, {}, {}, {}, {}] })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a worker that may spawn only some kinds is refused others', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        choosy: defineWorker({ spawns: ['echo'], receive: (_, self) => void self.spawn('parent', []) }),
        parent,
        echo,
      },
    })
    expect(await troupe.run('choosy')).toMatchObject({
      status: 'failed',
      failure: { code: 'run_failed', message: expect.stringContaining('may not spawn "parent"') },
    })
  })
})
