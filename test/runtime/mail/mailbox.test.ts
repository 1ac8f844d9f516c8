/** Input: first in, first out for each sender, processed between runs; messages between workers; when a session is complete. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** Both tell `seen` of each input. */
const busyKinds = {
  handler: (seen: (input: unknown) => void | Promise<void>) =>
    defineWorker({
      async receive(message, self) {
        await seen(message.value)
        self.reply(null)
      },
    }),
  agent: (seen: (input: unknown) => void | Promise<void>) =>
    defineWorker({
      instructions: 'x',
      model: scriptedModel('test/busy', async ({ messages }) => {
        const last = messages.at(-1)
        await seen(last?.role === 'user' && last.content[0]?.type === 'text' && last.content[0].text)
        return say('ok')
      }),
    }),
}

describe.each(['handler', 'agent'] as const)('a turn of an %s that has much to do', (kind) => {
  test('a turn of a worker with much mail ends after a number of steps, and others have the slot before it goes on (PERMIT-3)', async () => {
    const seen: unknown[] = []
    const busy = busyKinds[kind]((input) => void seen.push(input))
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('busy', 'a1', { keepOpen: true })
    for (const input of ['a2', 'a3', 'a4', 'a5']) await session.root.send(input)
    await troupe.create('busy', 'b1')
    await troupe.startNode({ busy }, { concurrency: 1, policy: { turnSliceSteps: 2, turnSliceMs: 600_000 } })
    await session.result({ run: 5 })
    expect(seen).toEqual(['a1', 'a2', 'b1', 'a3', 'a4', 'a5'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a turn of a worker with much mail ends after some time, and others have the slot before it goes on (PERMIT-3)', async () => {
    const seen: unknown[] = []
    // Longer than a busy machine takes for the first input.
    const turnSliceMs = 2_000
    const busy = busyKinds[kind](async (input) => {
      const begun = performance.now()
      seen.push(input)
      if (input === 'a2') await waitUntil('its time is over', () => performance.now() - begun > turnSliceMs)
    })
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('busy', 'a1', { keepOpen: true })
    for (const input of ['a2', 'a3']) await session.root.send(input)
    await troupe.create('busy', 'b1')
    await troupe.startNode({ busy }, { concurrency: 1, policy: { turnSliceMs } })
    await session.result({ run: 3 })
    expect(seen).toEqual(['a1', 'a2', 'b1', 'a3'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})

describe('the mailbox', () => {
  test('an input that comes while the worker is busy waits, and inputs are received in the order they were sent [1.18]', async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const seen: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        collector: defineWorker({
          async receive(message, self) {
            begun.resolve()
            await gate.promise
            seen.push(message.value)
            self.reply(message.value)
          },
        }),
      },
    })
    const session = await troupe.create('collector', 0)
    await begun.promise
    for (let number = 1; number <= 60; number++) await session.root.send(number)
    expect((await session.root.report()).mailbox.pending).toBeGreaterThanOrEqual(60)
    gate.resolve()
    expect(await session.result()).toMatchObject({ status: 'completed', run: 61, value: 60 })
    expect(seen).toEqual(Array.from({ length: 61 }, (_, number) => number))
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('the mailbox shows each waiting message under the number that its sender got', async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await using troupe = await TestTroupe.start({
      workers: {
        collector: defineWorker({
          async receive(message, self) {
            if (message.value === 'slow') {
              begun.resolve()
              await gate.promise
            }
            self.reply(message.value)
          },
        }),
      },
    })
    const session = await troupe.create('collector', 'zero', { keepOpen: true })
    await session.result({ run: 1 })
    await session.root.send('slow')
    await begun.promise
    const sent = [await session.root.send('two'), await session.root.send('three')]
    const waiting = await session.root.mailbox()
    expect(waiting.map(({ lane, position, message }) => [lane, position, message.id, message.value].join(' '))).toEqual(
      ['inbox 1 inbox-1 slow', 'inbox 2 inbox-2 two', 'inbox 3 inbox-3 three'],
    )
    expect(sent.map(({ position }) => position)).toEqual([2, 3])
    gate.resolve()
    expect(await session.result({ run: 4 })).toMatchObject({ value: 'three' })
    expect(await session.root.mailbox()).toEqual([])
  })

  test('an input that comes while a run waits for a child is not received before that run has ended', async () => {
    const gate = Promise.withResolvers<void>()
    const seen: string[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({
          receive(message, self) {
            seen.push(`${message.kind} ${self.run}`)
            if (message.kind === 'input' && message.value === 'spawn') self.spawn('gated', null)
            else self.reply(message.value)
          },
        }),
        gated: defineWorker({
          async receive(_, self) {
            await gate.promise
            self.reply('child')
          },
        }),
      },
    })
    const session = await troupe.create('parent', 'spawn')
    await waitUntil('the parent is parked', async () => (await session.root.report()).status === 'parked')
    await session.root.send('later')
    gate.resolve()
    expect(await session.result()).toMatchObject({ status: 'completed', run: 2, value: 'later' })
    expect(seen).toEqual(['input 1', 'result 1', 'input 2'])
    expect(await session.result({ run: 1 })).toMatchObject({ value: 'child' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('workers send to each other, first in, first out for each sender', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        host: defineWorker({
          receive(message, self) {
            if (message.kind !== 'input') return
            const listener = self.spawn('listener', 'start', { detached: true })
            for (const name of ['a', 'b']) self.spawn('talker', { to: listener.id, name })
          },
        }),
        talker: defineWorker({
          receive(message, self) {
            const { to, name } = message.value as { to: string; name: string }
            for (let number = 1; number <= 20; number++) self.send(to, { name, number })
            self.reply(null)
          },
        }),
        listener: defineWorker<unknown[]>({
          initial: [],
          receive(message, self) {
            self.setState([...self.state, message.value])
            self.reply(self.state.length)
          },
        }),
      },
    })
    const session = await troupe.create('host')
    expect(await session.result()).toMatchObject({ status: 'completed' })
    const listener = await waitUntil('the listener has read all', async () => {
      const { workers } = await session.report()
      return workers.find(({ kind, runs, status }) => kind === 'listener' && runs === 41 && status === 'idle')
    })
    const heard = (await troupe.history(listener.id)).flatMap((entry) =>
      entry.type === 'received' ? [entry.message] : [],
    )
    for (const name of ['a', 'b']) {
      const from = heard.filter(({ value }) => (value as { name?: string }).name === name)
      expect(from.map(({ value }) => (value as { number: number }).number)).toEqual(
        Array.from({ length: 20 }, (_, index) => index + 1),
      )
      expect(new Set(from.map((message) => message.from)).size).toBe(1)
    }
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a worker sends to an id that was pasted with blanks or in capitals', async () => {
    const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
    const sender = defineWorker({
      receive(message, self) {
        self.send(String(message.value), 'hello')
        self.reply(null)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { echo, sender } })
    const other = await troupe.create('echo', 1, { keepOpen: true })
    expect(await troupe.run('sender', ` ${other.rootId.toUpperCase()}\n`)).toMatchObject({ status: 'completed' })
    expect(await awaitResult(other, { run: 2 })).toMatchObject({ value: 'hello' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a message sent in the step that spawns its recipient follows the first input', async () => {
    const seen: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        host: defineWorker({
          receive(message, self) {
            if (message.kind !== 'input') return
            const child = self.spawn('listener', 'first')
            self.send(child, 'second')
            self.send(child.id, 'third')
          },
        }),
        listener: defineWorker({
          receive(message, self) {
            seen.push(message.value)
            self.reply(null)
          },
        }),
      },
    })
    expect(await troupe.run('host')).toMatchObject({ status: 'completed' })
    await waitUntil('the child has read all', () => seen.length === 3)
    expect(seen).toEqual(['first', 'second', 'third'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a worker may send to itself', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        loop: defineWorker({
          receive(message, self) {
            const left = message.value as number
            if (left > 0) self.send(self.id, left - 1)
            self.reply(left)
          },
        }),
      },
    })
    expect(await troupe.run('loop', 30)).toMatchObject({ status: 'completed', run: 31, value: 0 })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a message to a worker that does not exist fails the run, and nothing else of that step is sent', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        lost: defineWorker({
          receive(_, self) {
            self.spawn('lost', null)
            self.setState(1)
            self.send('01890000-0000-7000-8000-000000000000', 'hello')
          },
        }),
      },
    })
    const session = await troupe.create('lost')
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { code: 'worker_not_found' } })
    expect((await session.report()).workers).toHaveLength(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
