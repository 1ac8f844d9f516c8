/** Handlers and tools may change the values that they are handed: none of it reaches what is recorded, or what others are handed. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../src/core/errors.ts'
import { encodeInput } from '../../src/core/worker/message/message.ts'
import { call, say } from '../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../src/store/keys.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { awaitResult } from '../support/time/await-session.ts'

interface Order {
  n: number
  order?: unknown
}

const readOnlyAdvice = expect.stringContaining('self.state and messages are read-only') as string

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
    'a handler that makes %s of its input fails at once with advice, and the input is recorded as it was sent (HANDLER-5)',
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
      expect(await session.result()).toMatchObject({ status: 'failed', failure: { message: readOnlyAdvice } })
      expect(received).toBe(1)
      const [entry] = await troupe.history(session.rootId)
      expect(entry).toMatchObject({ type: 'received', message: { kind: 'input', from: null, value: { n: 1 } } })
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )

  test('a handler that changes the result of a child fails with advice, and the result is recorded as it came', async () => {
    const parent = defineWorker({
      retries: 0,
      receive(message, self) {
        if (message.kind === 'input') return void self.spawn('child', 1)
        Object.assign(message.value as Order, { order: 1n })
      },
    })
    const child = defineWorker({ receive: (_, self) => self.reply({ n: 1 }) })
    await using troupe = await TestTroupe.start({ workers: { parent, child } })
    const session = await troupe.create('parent')
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { message: readOnlyAdvice, attempt: 1 } })
    expect((await troupe.history(session.rootId))[1]).toMatchObject({ type: 'received', message: { value: { n: 1 } } })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a handler gets the value that its schema makes of an input, JSON or not, and the input is recorded as it was sent (HANDLER-4)', async () => {
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

  test('a handler receives a message nested deeper than this process could write, because its sender had a larger stack', async () => {
    const levels = 20_000
    const depth = defineWorker({
      receive(message, self) {
        let count = 0
        for (let value = message.value; Array.isArray(value); value = value[0]) count++
        self.reply(count)
      },
    })
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('depth')
    const { inbox } = workerKeys(troupe.tag, session.rootId)
    await troupe.redis.lset(inbox, 0, encodeInput(null, '['.repeat(levels) + ']'.repeat(levels)))
    await troupe.startNode({ depth })
    expect(await awaitResult(session)).toMatchObject({ value: levels })
    const [entry] = await troupe.history(session.rootId)
    expect(entry).toMatchObject({ message: { value: '(a value that is nested too deeply to be written)' } })
  })
})

describe('a tool', () => {
  test('a tool that changes its arguments and is tried again gets the recorded arguments, as does the model (ARGUMENTS-3)', async () => {
    const attempts: unknown[] = []
    const add = defineTool<{ items: string[] }>({
      name: 'add',
      description: 'Adds.',
      effect: 'idempotent',
      run(order, { attempt }) {
        attempts.push(structuredClone(order))
        order.items.push('a gift')
        if (attempt === 1) throw new TransientError('the shop is closed for a moment')
        return 'added'
      },
    })
    const model = recordedModel('test/args', [call('add', { items: ['lamp'] }), say('done')])
    await using troupe = await TestTroupe.start({
      workers: { clerk: defineWorker({ instructions: 'Add.', model, tools: [add] }) },
    })
    expect(await troupe.run('clerk', 'go')).toMatchObject({ status: 'completed' })
    expect(attempts).toEqual([{ items: ['lamp'] }, { items: ['lamp'] }])
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('a gift')
  })

  test('a tool that changes a fact in place, or the input of the run, changes it for nobody else (ATTEMPT-3)', async () => {
    const seen: unknown[] = []
    const set = defineTool({
      name: 'set',
      description: 'Sets.',
      effect: 'pure',
      run: (_, { setFact }) => setFact('cart', ['lamp']),
    })
    const add = defineTool({
      name: 'add',
      description: 'Adds.',
      effect: 'pure',
      run(_, { facts, input }) {
        seen.push(structuredClone({ cart: facts.cart, input }))
        ;(facts.cart as string[]).push('chair')
        ;(input as { wanted: string[] }).wanted.length = 0
        throw new Error('out of stock')
      },
    })
    const model = recordedModel('test/facts', [call('set'), call('add'), call('add'), say('done')])
    await using troupe = await TestTroupe.start({
      workers: { clerk: defineWorker({ instructions: 'Add.', model, tools: [set, add] }) },
    })
    expect(await troupe.run('clerk', { wanted: ['chair'] })).toMatchObject({
      status: 'completed',
      value: { text: 'done', facts: { cart: ['lamp'] } },
    })
    const first = { cart: ['lamp'], input: { wanted: ['chair'] } }
    expect(seen).toEqual([first, first])
  })

  test('a tool that changes facts of children changes them for no other tool (ATTEMPT-3)', async () => {
    const seen: unknown[] = []
    const establish = defineTool({
      name: 'establish',
      description: 'Establishes.',
      effect: 'pure',
      run: (_, { setFact }) => setFact('found', [1]),
    })
    const sum = defineTool({
      name: 'sum',
      description: 'Sums.',
      effect: 'pure',
      run(_, { children }) {
        seen.push(structuredClone(children.map(({ facts }) => facts)))
        for (const { facts } of children) (facts.found as number[]).push(2)
      },
    })
    const childModel = recordedModel('test/child', [call('establish'), say('found')])
    const tasks = [{ kind: 'child', input: 'go' }]
    const model = recordedModel('test/parent', [
      call('spawn_workers', { tasks }),
      call('sum'),
      call('sum'),
      say('done'),
    ])
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'Sum.', model, tools: [sum], spawns: ['child'] }),
        child: defineWorker({ instructions: 'Find.', model: childModel, tools: [establish] }),
      },
    })
    expect(await troupe.run('parent', 'go')).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([[{ found: [1] }], [{ found: [1] }]])
  })
})
