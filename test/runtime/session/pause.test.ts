/** Pausing a session, or all of them: from the acknowledgement nothing of it begins, and the resume loses and doubles nothing. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { newId } from '../../../src/core/ids.ts'
import { call, say, together } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { hourMs, makeTimersDue } from '../../support/time/due-timers.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** What began, in order. The pause writes its own line when it is acknowledged. */
const acknowledged = 'acknowledged'

/** Each root does as many rounds as its input says; each round spawns children, waits for a timer, and goes on. */
function load(log: string[]) {
  const child = defineWorker({
    async receive(message, self) {
      log.push(`child ${String(message.value)}`)
      await new Promise((resolve) => setTimeout(resolve, 3))
      self.reply(message.value)
    },
  })
  const root = defineWorker({
    initial: { round: 0, results: [] as unknown[] },
    receive(message, self) {
      log.push(`root ${message.kind}`)
      const { round, results } = self.state
      if (message.kind === 'result') {
        const all = [...results, message.status === 'completed' ? message.value : null]
        self.setState({ round, results: all })
        if (all.length % 4 !== 0) return
        if (all.length === 40) self.reply(all.length)
        else self.after(5, null)
        return
      }
      self.setState({ round: round + 1, results })
      for (let number = 0; number < 4; number++) self.spawn('child', round * 4 + number)
    },
  })
  return { root, child }
}

describe('session.pause', () => {
  test('a pause under load with two nodes: nothing begins after the acknowledgement, and the resume loses and doubles nothing', async () => {
    const log: string[] = []
    await using troupe = await TestTroupe.connect()
    for (let node = 0; node < 2; node++) await troupe.startNode(load(log), { concurrency: 4 })
    const session = await troupe.create('root', 'go')
    for (let pause = 0; pause < 3; pause++) {
      const before = log.length
      await waitUntil('it goes on', () => log.length > before + 8)
      await session.pause('look first', { by: 'ada' })
      log.push(acknowledged)
      expect((await session.summary()).paused).toMatchObject({ why: 'look first', by: 'ada' })
      const at = log.length
      // Everything that ran has ended: whatever could begin would have begun.
      await waitUntil('nothing runs', async () => (await troupe.redis.zcard(`${troupe.tag}:leases`)) === 0)
      await troupe.client.nodes()
      expect(log.slice(at)).toEqual([])
      await session.resume('looked')
    }
    expect(await awaitResult(session)).toMatchObject({ value: 40 })
    const children = log.filter((line) => line.startsWith('child'))
    expect(new Set(children).size).toBe(40)
    expect(children).toHaveLength(40)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('session.pause waits for a turn no longer than its node needs to answer, and running work ends and is recorded', async () => {
    const gate = Promise.withResolvers<void>()
    const received: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        slow: defineWorker({
          async receive(message, self) {
            received.push(message.value)
            await gate.promise
            self.reply(message.value)
          },
        }),
      },
    })
    const session = await troupe.create('slow', 'first', { keepOpen: true })
    await session.root.send('second')
    await waitUntil('it runs', () => received.length === 1)
    await session.pause()
    gate.resolve()
    expect(await session.result({ run: 1 })).toMatchObject({ value: 'first' })
    await waitUntil('the turn is over', async () => (await session.root.report()).status === 'queued')
    expect(await session.root.report()).toMatchObject({ activity: 'paused', waitsFor: 'the session to be resumed' })
    expect(received).toEqual(['first'])
    await session.resume()
    expect(await session.result({ run: 2 })).toMatchObject({ value: 'second' })
    expect(received).toEqual(['first', 'second'])
  })

  test('session.pause lets a model call of an agent end and keeps its tools; the next turn begins them', async () => {
    const asked = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const model = recordedModel('test/m', async (_, number) => {
      begun.push('model')
      if (number > 1) return say('done')
      asked.resolve()
      await gate.promise
      return call('touch')
    })
    const touch = defineTool({
      name: 'touch',
      description: 'Touches.',
      effect: 'once',
      approval: 'never',
      run() {
        begun.push('tool')
        return 'touched'
      },
    })
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [touch] }) },
    })
    const session = await troupe.create('agent')
    await asked.promise
    await session.pause()
    gate.resolve()
    await waitUntil('its turn is over', async () => (await session.root.report()).status === 'queued')
    expect(begun).toEqual(['model'])
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['user', 'assistant'])
    await session.resume()
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'done' } })
    expect(begun).toEqual(['model', 'tool', 'model'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('session.pause lets the running tool end, and keeps the other calls of its batch', async () => {
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const tool = (name: string) =>
      defineTool({
        name,
        description: 'Waits.',
        effect: 'idempotent',
        async run() {
          begun.push(name)
          await gate.promise
          return name
        },
      })
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']
    const model = recordedModel('test/m', [together(...names.map((name) => call(name))), say('done')])
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: names.map(tool) }) },
    })
    const session = await troupe.create('agent')
    await waitUntil('as many tools run as may', () => begun.length >= 2)
    await session.pause()
    const running = [...begun]
    gate.resolve()
    await waitUntil('its turn is over', async () => (await session.root.report()).status === 'queued')
    expect(begun).toEqual(running)
    await session.resume()
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(begun.toSorted()).toEqual(names)
  })

  test('session.pause records the running steps of a handler, and begins no other; the resume takes each of the others once', async () => {
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const taken = async (name: string) => {
      begun.push(name)
      await gate.promise
      return name
    }
    const stepper = defineWorker({
      retries: 0,
      async receive(_, self) {
        const both = await Promise.all([self.step('a', () => taken('a')), self.step('b', () => taken('b'))])
        self.reply([...both, await self.step('c', () => taken('c'))])
      },
    })
    await using troupe = await TestTroupe.start({ workers: { stepper } })
    const session = await troupe.create('stepper')
    await waitUntil('both steps run', () => begun.length === 2)
    await session.pause()
    gate.resolve()
    await waitUntil('its turn is over', async () => (await session.root.report()).status === 'queued')
    expect(begun).toEqual(['a', 'b'])
    await session.resume()
    expect(await session.result()).toMatchObject({ status: 'completed', value: ['a', 'b', 'c'] })
    expect(begun).toEqual(['a', 'b', 'c'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('session.pause lets a running step end before it holds back another one beside it (HANDLER-STEPS-4)', async () => {
    const gate = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const begun: string[] = []
    const returned: string[][] = []
    const stepper = defineWorker({
      retries: 0,
      async receive(_, self) {
        const take = async (name: string, until: Promise<void>) => {
          begun.push(name)
          await until
          return name
        }
        const slow = self.step('slow', () => take('slow', gate.promise))
        await second.promise
        const held = ['held', 'other'].map((name) => self.step(name, () => take(name, Promise.resolve())))
        const all = await Promise.allSettled([slow, ...held])
        returned.push(all.map((one) => one.status))
        self.reply(await Promise.all([slow, ...held]))
      },
    })
    await using troupe = await TestTroupe.start({ workers: { stepper } })
    const session = await troupe.create('stepper')
    await waitUntil('the first step runs', () => begun.length === 1)
    await session.pause()
    second.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    gate.resolve()
    await waitUntil('its turn is over', async () => (await session.root.report()).status === 'queued')
    await waitUntil('no step is waited for any more', () => returned.length === 1)
    expect(returned).toEqual([['fulfilled', 'rejected', 'rejected']])
    await session.resume()
    expect(await session.result()).toMatchObject({ status: 'completed', value: ['slow', 'held', 'other'] })
    expect(begun).toEqual(['slow', 'held', 'other'])
  })

  test('session.pause does not hold back a step that a running step takes (HANDLER-STEPS-4)', async () => {
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const stepper = defineWorker({
      retries: 0,
      async receive(_, self) {
        const outer = await self.step('outer', async () => {
          begun.push('outer')
          await gate.promise
          return [await self.step('inner', () => begun.push('inner'))]
        })
        self.reply([outer, await self.step('next', () => begun.push('next'))])
      },
    })
    await using troupe = await TestTroupe.start({ workers: { stepper } })
    const session = await troupe.create('stepper')
    await waitUntil('the outer step runs', () => begun.length === 1)
    await session.pause()
    gate.resolve()
    await waitUntil('its turn is over', async () => (await session.root.report()).status === 'queued')
    expect(begun).toEqual(['outer', 'inner'])
    await session.resume()
    expect(await session.result()).toMatchObject({ status: 'completed', value: [[2], 3] })
  })

  test('session.pause keeps answers and expiries of asks in the order in which they came', async () => {
    const asks: string[] = []
    const received: unknown[] = []
    const asker = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') {
          const late = { expiresMs: hourMs, onExpiry: 'late' }
          asks.push(self.ask('first?').id, self.ask('second?', late).id, self.ask('third?').id)
          return
        }
        received.push(message.kind === 'answer' ? message.value : message.kind)
        if (received.length === 3) self.reply(null)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { asker } })
    const session = await troupe.create('asker')
    await waitUntil('it waits', async () => (await session.root.report()).status === 'parked')
    await session.pause()
    await troupe.client.asks.answer(String(asks[2]), 'third')
    await makeTimersDue(troupe)
    await waitUntil('the second one has expired', async () => {
      return (await troupe.client.asks.get(String(asks[1]))).state === 'expired'
    })
    await troupe.client.asks.answer(String(asks[0]), 'first')
    expect(await session.root.report()).toMatchObject({ activity: 'paused', mailbox: { signals: 3 } })
    expect(received).toEqual([])
    await session.resume()
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(received).toEqual(['third', 'late', 'first'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('session.pause outlives the nodes, and a cancel ends it at once', async () => {
    const received: unknown[] = []
    const echo = defineWorker({
      receive(message, self) {
        received.push(message.value)
        self.reply(message.value)
      },
    })
    await using troupe = await TestTroupe.connect()
    const [one, two] = [await troupe.create('echo', 'one'), await troupe.create('echo', 'two')]
    await one.pause()
    await two.pause()
    await troupe.startNode({ echo })
    await troupe.run('echo', 'three')
    await waitUntil('both are held', async () => (await troupe.redis.zcard(`${troupe.tag}:run:default`)) === 0)
    await troupe.nodes[0]?.stop()
    await troupe.startNode({ echo })
    await two.cancel('enough')
    expect(await two.result()).toMatchObject({ status: 'cancelled' })
    await expect(two.pause()).rejects.toMatchObject({ code: 'session_finished' })
    expect(received).toEqual(['three'])
    await one.resume()
    expect(await one.result()).toMatchObject({ value: 'one' })
    await expect(one.pause()).rejects.toMatchObject({ code: 'session_finished' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('session.pause refuses a reason that is no text, and an unknown session', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('echo')
    await expect(session.pause(7 as never)).rejects.toMatchObject({ code: 'input_invalid' })
    await expect(session.pause('x', { by: 'y'.repeat(1_001) })).rejects.toMatchObject({ code: 'input_invalid' })
    const unknown = troupe.client.sessions.get(newId(0))
    await expect(unknown.pause()).rejects.toMatchObject({ code: 'session_not_found' })
    await expect(unknown.resume()).rejects.toMatchObject({ code: 'session_not_found' })
  })
})

describe('troupe.pause', () => {
  test('troupe.pause holds all sessions on all nodes, even new ones and a node that starts later; the resume goes on with all of it', async () => {
    const log: string[] = []
    const logged: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
    await using troupe = await TestTroupe.connect()
    for (let node = 0; node < 2; node++) await troupe.startNode(load(log), { concurrency: 4, logger })
    const session = await troupe.create('root', 'go')
    await waitUntil('it goes on', () => log.length > 8)
    await troupe.client.pause('stop it', { by: 'ada' })
    const areTold = () => logged.filter((line) => line.includes('takes up no work')).length === 2
    await waitUntil('both nodes have learned it', areTold)
    await waitUntil('nothing runs', async () => (await troupe.redis.zcard(`${troupe.tag}:leases`)) === 0)
    await waitUntil('timers have fired', async () => (await troupe.redis.zcard(`${troupe.tag}:timers`)) === 0)
    const at = log.length
    const later = await troupe.create('child', 99)
    await troupe.startNode(load(log), { concurrency: 4 })
    expect(await troupe.client.health()).toMatchObject({ paused: { why: 'stop it', by: 'ada' } })
    expect(await later.root.report()).toMatchObject({ activity: 'paused', waitsFor: 'all sessions to be resumed' })
    expect(log.length).toBe(at)
    await troupe.client.resume()
    expect(await awaitResult(later)).toMatchObject({ value: 99 })
    expect(await awaitResult(session)).toMatchObject({ value: 40 })
    expect(log.filter((line) => line.startsWith('child'))).toHaveLength(41)
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
