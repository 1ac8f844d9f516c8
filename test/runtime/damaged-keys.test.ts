/** Keys that somebody wrote over, under running workers: a clear error, nothing lost, the node lives, and the others go on. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { defineWorker, type HandlerDefinition } from '../../src/core/definition/define-worker.ts'
import type { TurnStore } from '../../src/core/ports/ports.ts'
import { say } from '../../src/models/local/scripted-model.ts'
import { partitionKeys, sessionKeys, workerKeys } from '../../src/store/keys.ts'
import { changedStore } from '../support/changed-store.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { spoil } from '../support/redis/spoil.ts'
import { shortLeases } from '../support/test-policy.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

/** A node whose log is kept, line by line. */
async function logged(workers: Record<string, HandlerDefinition>) {
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const troupe = await TestTroupe.start({ workers, logger, policy: shortLeases })
  return { troupe, lines, [Symbol.asyncDispose]: () => troupe[Symbol.asyncDispose]() }
}

describe('a worker whose key was written over', () => {
  test.each(['record', 'inbox'] as const)(
    'an overwritten worker (%s) takes no message until it is mended; the others go on',
    async (name) => {
      await using scene = await logged({ echo })
      const { troupe } = scene
      const session = await troupe.create('echo', 'one', { keepOpen: true })
      await session.result({ run: 1 })
      const key = workerKeys(troupe.tag, session.rootId)[name]
      const mend = await spoil(troupe.redis, key)
      await expect(session.root.send('two')).rejects.toThrow(`key ${key} is a string and should be a`)
      expect(await troupe.run('echo', 'fine')).toMatchObject({ value: 'fine' })
      await mend()
      await session.root.send('two')
      expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'two' })
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )

  test.each(['log', 'runResults'] as const)(
    'an overwritten worker (%s) keeps its message until it is mended; the others go on',
    async (name) => {
      await using scene = await logged({ echo })
      const { troupe, lines } = scene
      const session = await troupe.create('echo', 'one', { keepOpen: true })
      await session.result({ run: 1 })
      const key = { ...workerKeys(troupe.tag, session.rootId), ...sessionKeys(troupe.tag, session.id) }[name]
      const mend = await spoil(troupe.redis, key)
      await session.root.send('two')
      // More often than a worker may be started without a commit.
      for (let number = 0; number < 8; number++)
        expect(await troupe.run('echo', number)).toMatchObject({ value: number })
      await waitUntil('the error names the key', () =>
        lines.some((line) => line.includes(`${key} is a string and should`)),
      )
      await mend()
      expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'two' })
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )

  test('an overwritten worker in the run queue does not hold up those behind it, and is not blamed', async () => {
    await using troupe = await TestTroupe.connect()
    const damaged = await Promise.all(Array.from({ length: 40 }, () => troupe.create('echo', 'late')))
    const mends: (() => Promise<void>)[] = []
    for (const { rootId } of damaged) mends.push(await spoil(troupe.redis, workerKeys(troupe.tag, rootId).record))
    const lines: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    await troupe.startNode({ echo }, { logger, policy: shortLeases })
    expect(await troupe.run('echo', 'fine')).toMatchObject({ value: 'fine' })
    await waitUntil('the log tells of each', () =>
      damaged.every(({ rootId }) => lines.some((line) => line.includes(rootId))),
    )
    for (const mend of mends) await mend()
    for (const session of damaged) expect(await session.result()).toMatchObject({ status: 'completed', value: 'late' })
    expect(await troupe.client.deadLetters()).toEqual([])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('sweeps do not spend their time on an overwritten worker: timers fire', async () => {
    const sleeper = defineWorker({
      receive: (message, self) => (message.kind === 'timer' ? self.reply('woke') : self.after(50, null)),
    })
    await using troupe = await TestTroupe.start({ workers: { echo, sleeper }, policy: shortLeases })
    const sessions = await Promise.all(
      Array.from({ length: 8 }, () => troupe.create('echo', 'one', { keepOpen: true })),
    )
    const mends: (() => Promise<void>)[] = []
    for (const session of sessions) {
      await session.result({ run: 1 })
      mends.push(await spoil(troupe.redis, workerKeys(troupe.tag, session.rootId).log))
      await session.root.send('two')
    }
    const unhosted = partitionKeys(troupe.tag).run('unhosted')
    await waitUntil('some are out of the line', async () => (await troupe.redis.zcard(unhosted)) > 0)
    for (let number = 0; number < 5; number++)
      expect(await troupe.run('sleeper', number)).toMatchObject({ status: 'completed', value: 'woke' })
    for (const mend of mends) await mend()
    for (const session of sessions) expect(await session.result({ run: 2 })).toMatchObject({ value: 'two' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test.each([
    ['log', 'slow'],
    ['runResults', 'slow'],
    ['workers', 'splitter'],
  ] as const)(
    'an overwritten worker (%s) in mid-turn keeps its message, and is never taken for poison',
    async (name, kind) => {
      const [began, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const slow = defineWorker({
        async receive(message, self) {
          began.resolve()
          await goOn.promise
          self.reply(message.value)
        },
      })
      const splitter = defineWorker({
        spawns: ['echo'],
        async receive(message, self) {
          if (message.kind === 'input') {
            began.resolve()
            await goOn.promise
            self.spawn('echo', message.value)
          } else if (message.kind === 'result') self.reply('kept')
        },
      })
      await using scene = await logged({ echo, slow, splitter })
      const { troupe, lines } = scene
      const session = await troupe.create(kind, 'kept', { keepOpen: true })
      await began.promise
      const key = { ...workerKeys(troupe.tag, session.rootId), ...sessionKeys(troupe.tag, session.id) }[name]
      const mend = await spoil(troupe.redis, key)
      goOn.resolve()
      await waitUntil('the commit is given up', () => lines.some((line) => line.includes(`${key} is a string`)))
      // It is claimed again when its lease has ended, and found damaged.
      const unhosted = partitionKeys(troupe.tag).run('unhosted')
      await waitUntil(
        'it is out of the line',
        async () => (await troupe.redis.zscore(unhosted, session.rootId)) !== null,
      )
      expect(await troupe.run('echo', 'fine')).toMatchObject({ value: 'fine' })
      await mend()
      expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: 'kept' })
      expect(await troupe.client.deadLetters()).toEqual([])
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )
})

describe('a worker that can have no children', () => {
  const leaf = defineWorker({ spawns: [], receive: (message, self) => self.reply(message.value) })
  const model = recordedModel('test/leaf', () => say('one'))
  test.each([
    ['handler', leaf, 'one'],
    ['agent', defineWorker({ instructions: 'Say one.', model }), { text: 'one' }],
  ])(
    'a worker that can have no children (%s) goes on after a lost start, whatever its fields for children hold',
    async (_, kind, value) => {
      await using troupe = await TestTroupe.connect()
      const session = await troupe.create('leaf', 'one')
      let isLost = false
      // A defect of the list of cancelled sessions would keep the node from starting.
      const started = Promise.withResolvers<void>()
      const aroundTurns = (turns: TurnStore): TurnStore =>
        changedStore(turns, {
          async commit(request) {
            if (isLost) return turns.commit(request)
            isLost = true
            await started.promise
            await troupe.redis.hset(workerKeys(troupe.tag, session.rootId).record, 'workers', 'some')
            await spoil(troupe.redis, partitionKeys(troupe.tag).cancelling)
            throw new Error('the answer is lost')
          },
        })
      await troupe.startNode({ leaf: kind }, { aroundTurns, policy: shortLeases })
      started.resolve()
      const root = async () =>
        (await troupe.redis.hgetall(workerKeys(troupe.tag, session.rootId).record)) as { ended?: string }
      await waitUntil('it has ended', async () => (await root()).ended?.startsWith('completed'))
      expect((await troupe.history(session.rootId)).at(-1)).toMatchObject({ type: 'completed', value })
      await troupe.redis.del(partitionKeys(troupe.tag).cancelling)
    },
  )
})

describe('a recipient whose key was written over', () => {
  test.each(['record', 'inbox'] as const)(
    'an overwritten recipient (%s) fails the run that sends to it, which names the key',
    async (name) => {
      const sender = defineWorker({
        receive(message, self) {
          if (message.kind !== 'input') return
          self.send(String(message.value), 'hello')
          self.reply('sent')
        },
      })
      await using scene = await logged({ echo, sender })
      const { troupe } = scene
      const other = await troupe.create('echo', 'one', { keepOpen: true })
      await other.result({ run: 1 })
      const key = workerKeys(troupe.tag, other.rootId)[name]
      const mend = await spoil(troupe.redis, key)
      const session = await troupe.create('sender', other.rootId, { keepOpen: true })
      expect(await session.result({ run: 1 })).toMatchObject({
        status: 'failed',
        failure: { message: expect.stringContaining(`key ${key} is a string`) },
      })
      expect(await troupe.client.deadLetters()).toEqual([])
      await mend()
      await session.root.send(other.rootId)
      expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'sent' })
      expect(await other.result({ run: 2 })).toMatchObject({ value: 'hello' })
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )
})

describe('a cancelled session whose key was written over', () => {
  test.each(['runResults', 'workers'] as const)(
    'an overwritten session that was cancelled (%s) stops when it is mended; nodes start, and finish the others',
    async (name) => {
      await using troupe = await TestTroupe.connect()
      const spoilt = await troupe.create('echo', 'one')
      const other = await troupe.create('echo', 'two')
      for (const session of [spoilt, other]) await session.cancel()
      const key = sessionKeys(troupe.tag, spoilt.id)[name]
      const mend = await spoil(troupe.redis, key)
      const lines: string[] = []
      const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
      await troupe.startNode({ echo }, { logger, policy: shortLeases })
      expect(await troupe.run('echo', 'fine')).toMatchObject({ value: 'fine' })
      expect(await other.result()).toMatchObject({ status: 'cancelled' })
      await waitUntil('the log names the key', () =>
        lines.some((line) => line.includes(`${key} is a string and should`)),
      )
      expect(lines.filter((line) => line.includes(key) && line.includes(`"session":"${spoilt.id}"`))).toHaveLength(1)
      await mend()
      expect(await spoilt.result()).toMatchObject({ status: 'cancelled' })
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )
})

describe('a run queue whose key was written over', () => {
  test('an overwritten run queue holds up its workers; they run once it is mended, with everything that was sent in between', async () => {
    await using scene = await logged({ echo })
    const { troupe, lines } = scene
    const early = await troupe.create('echo', 'one', { keepOpen: true })
    await early.result({ run: 1 })
    const line = partitionKeys(troupe.tag).run('default')
    const mend = await spoil(troupe.redis, line)
    await early.root.send('two')
    const late = await troupe.create('echo', 'late')
    await waitUntil('the log names the key', () =>
      lines.some((text) => text.includes(`${line} is a string and should`)),
    )
    await mend()
    expect(await early.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'two' })
    expect(await late.result()).toMatchObject({ status: 'completed', value: 'late' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})

describe('a history that somebody wrote into', () => {
  test('an overwritten history is logged with the entries that cannot be read, and the conversation goes on', async () => {
    const model = recordedModel('test/m', (request) => say(`sent ${request.messages.length}`))
    const workers = { talker: defineWorker({ instructions: 'Talk.', model }) }
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(workers)
    const session = await troupe.create('talker', 'one', { keepOpen: true })
    await session.result({ run: 1 })
    await first.stop()
    const strange = [
      'no json',
      '[]',
      '{"type":"user","content":7}',
      '{"type":"received"}',
      '{"type":"delegated"}',
      '{"type":"failed"}',
    ]
    await troupe.redis.rpush(workerKeys(troupe.tag, session.rootId).log, ...strange)
    const lines: string[] = []
    await troupe.startNode(workers, {
      logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
    })
    await session.root.send('two')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'sent 3' } })
    expect(lines.some((line) => line.includes('could not be read and were passed over'))).toBe(true)
  })
})
