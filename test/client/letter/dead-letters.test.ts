/** Dead letters as programs see them: what killed the node, the evidence, the one failure that the parent gets, and the way back. */
import { describe, expect, test } from 'vitest'
import type { DeadLetter } from '../../../src/client/summaries.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { encodeInput } from '../../../src/core/worker/message/message.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { commandsNaming } from '../../support/redis/watched-commands.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { blame } from '../support/blame.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

const agent = defineWorker({
  instructions: 'x',
  model: scriptedModel('test/echo', ({ messages }) => {
    const last = messages.at(-1)
    return say(last?.role === 'user' && last.content[0]?.type === 'text' ? last.content[0].text : '')
  }),
})

test('no more letters are read than are asked for, since each may hold a large message', async () => {
  await using troupe = await TestTroupe.connect()
  const { dead } = partitionKeys(troupe.tag)
  for (let number = 0; number < 5; number++)
    await troupe.redis.xadd(dead, '*', 'session', 's', 'worker', rootIdOf(newId(0)), 'evidence', '{}')
  const asked = await commandsNaming(troupe.redis, dead, async () => {
    expect(await troupe.client.deadLetters({ limit: 2 })).toHaveLength(2)
  })
  expect(asked).toEqual([{ name: 'xrevrange', args: [dead, '+', '-', 'COUNT', '2'] }])
  expect(await troupe.client.deadLetters({ limit: 4 })).toHaveLength(4)
  expect(await troupe.client.deadLetters()).toHaveLength(5)
})

describe('many messages that were put aside', () => {
  async function manyLetters(troupe: TestTroupe, count: number) {
    const session = await troupe.create('nobody', 'first', { keepOpen: true })
    const { dead } = partitionKeys(troupe.tag)
    const add = (text: string) =>
      troupe.redis.xadd(dead, '*', 'worker', session.rootId, 'mail', encodeInput(null, `"${text}"`), 'evidence', '{}')
    const ids: string[] = []
    for (let number = 0; number < count; number++) ids.push((await add(`letter ${number}`)) as string)
    return { session, dead, ids, add }
  }

  test('messages that were put aside are redriven page by page, and each is reported as soon as it is', async () => {
    await using troupe = await TestTroupe.connect()
    const { dead, ids } = await manyLetters(troupe, 120)
    const told: string[] = []
    const onProgress = ({ letterId }: { readonly letterId: string }) => void told.push(letterId)
    const asked = await commandsNaming(troupe.redis, dead, async () => {
      const done = await troupe.client.redrive({ all: true, onProgress })
      expect(done.map(({ letterId, status }) => [letterId, status])).toEqual(ids.map((id) => [id, 'redriven']))
    })
    expect(told).toEqual(ids)
    // Each page is read when the letters of the pages before it are back, and holds no more than could be read in time.
    const names = asked.map(({ name, args }) => (args[1] === args[2] ? 'back' : `${name} ${args.at(-1)}`))
    const pages = names.flatMap((name, index) => (name === 'xrange 50' ? [names.slice(0, index)] : []))
    expect(pages.map((before) => before.filter((name) => name === 'back').length)).toEqual([0, 50, 100])
    expect(await troupe.client.redrive({ all: true })).toEqual([])
  })

  test('messages that were put aside are redriven without those that appear during the redrive, or it would never end', async () => {
    await using troupe = await TestTroupe.connect()
    const { ids, add } = await manyLetters(troupe, 60)
    const added: Promise<unknown>[] = []
    const done = await troupe.client.redrive({ all: true, onProgress: () => void added.push(add('again')) })
    await Promise.all(added)
    expect(done.map(({ letterId }) => letterId)).toEqual(ids)
  })

  test('messages that were put aside go back even if one of them belongs to a worker that cannot exist', async () => {
    await using troupe = await TestTroupe.connect()
    const { ids, dead, add } = await manyLetters(troupe, 1)
    for (const worker of ['w', rootIdOf(newId(5))])
      await troupe.redis.xadd(dead, '*', 'worker', worker, 'mail', encodeInput(null, '1'), 'evidence', '{}')
    const last = await add('last')
    expect(await troupe.client.redrive({ all: true })).toMatchObject([
      { letterId: ids[0], status: 'redriven' },
      { workerId: 'w', status: 'refused', refusal: { code: 'input_invalid' } },
      { status: 'refused', refusal: { code: 'worker_not_found', message: expect.stringContaining('partition 5') } },
      { letterId: last, status: 'redriven' },
    ])
  })

  test('a message that somebody must still deal with is found behind many newer ones that were dealt with', async () => {
    await using troupe = await TestTroupe.connect()
    const { dead, ids } = await manyLetters(troupe, 120)
    const [oldest, ...newer] = ids
    for (const letter of newer) await troupe.client.dismiss({ letter })
    expect(await troupe.client.deadLetters({ open: true, limit: 1 })).toMatchObject([{ id: oldest }])
    await troupe.client.dismiss({ letter: oldest })
    const asked = await commandsNaming(troupe.redis, dead, async () => {
      expect(await troupe.client.deadLetters({ open: true })).toEqual([])
    })
    // None is open, so no message is read.
    expect(asked.filter(({ name }) => name === 'xrevrange')).toEqual([])
  })

  test('a message that somebody must still deal with is found without a read of those that were dealt with', async () => {
    await using troupe = await TestTroupe.connect()
    const { rootId } = await troupe.create('echo', 'hello', { keepOpen: true })
    await blame(troupe, rootId)
    await troupe.startNode({ echo })
    const [letter] = await waitUntil('it is put aside', async () => {
      const letters = await troupe.client.deadLetters()
      return letters.length > 0 && letters
    })
    const { session, dead } = await manyLetters(troupe, 60)
    expect(await troupe.client.deadLetters({ open: true })).toHaveLength(61)
    await troupe.client.dismiss({ workerId: session.rootId })
    const asked = await commandsNaming(troupe.redis, dead, async () => {
      for (const which of [{}, { limit: 1 }, { workerId: rootId }])
        expect(await troupe.client.deadLetters({ open: true, ...which })).toEqual([letter])
      expect(await troupe.client.deadLetters({ open: true, workerId: session.rootId })).toEqual([])
    })
    const { id } = letter as DeadLetter
    const bodies = asked.filter(({ name, args }) => name !== 'xlen' && args.at(-1) !== '1')
    expect(bodies).toHaveLength(4)
    for (const read of bodies) expect(read).toEqual({ name: 'xrange', args: [dead, id, id] })
    await troupe.client.redrive({ letter: id })
    expect(await troupe.client.deadLetters({ open: true })).toEqual([])
  })

  test('one named message that was put aside goes back without a read of the others', async () => {
    await using troupe = await TestTroupe.connect()
    const { session, dead, ids } = await manyLetters(troupe, 60)
    const id = ids[30] as string
    const asked = await commandsNaming(troupe.redis, dead, async () => {
      expect(await troupe.client.redrive({ letter: id })).toMatchObject([{ letterId: id, status: 'redriven' }])
    })
    expect(asked.filter(({ args }) => args.at(-1) === '50')).toEqual([])
    for (const letter of ['x', '5', '99999999999999999999-0'])
      await expect(troupe.client.redrive({ letter })).rejects.toMatchObject({ code: 'letter_not_found' })
    expect(await troupe.client.redrive({ workerId: session.rootId })).toHaveLength(59)
  })
})

describe('a message that was put aside', () => {
  test.each([
    ['handler', echo, 'hello', ['received', 'completed']],
    ['agent', agent, { text: 'hello' }, ['user', 'assistant', 'completed']],
  ] as const)(
    'a message of an %s that was put aside says what killed its node, and is put back once',
    async (_, kind, value, types) => {
      await using troupe = await TestTroupe.connect()
      const session = await troupe.create('echo', 'hello', { keepOpen: true })
      await blame(troupe, session.rootId)
      await troupe.startNode({ echo: kind })
      const failure = { code: 'poison', origin: 'runtime', attempt: 1, retryable: false }
      expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed', failure })
      const told = new Map<string, unknown>()
      for await (const { type, details } of session.events({ after: '0-0', transient: false })) {
        told.set(type, details)
        if (told.has('worker.failed') && told.has('message.deadLettered')) break
      }
      expect(told.get('message.deadLettered')).toEqual({ id: 'inbox-0' })
      const [letter] = await troupe.client.deadLetters({ workerId: session.rootId })
      expect(letter).toMatchObject({
        sessionId: session.id,
        killedBy: 'message inbox-0 (input)',
        redrivenAs: null,
        message: { kind: 'input', value: 'hello' },
        evidence: { kind: 'echo', run: 1, crashes: 5, failure },
      })
      const id = letter?.id ?? ''
      expect(letter?.message).toMatchObject({ id })
      const [redriven, ...more] = await troupe.client.redrive({ workerId: session.rootId })
      expect(more).toEqual([])
      expect(redriven).toMatchObject({ letterId: id, status: 'redriven', messageId: 'inbox-1', refusal: null })
      expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value })
      // The quarantined message is not in the history.
      expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['failed', ...types])
      expect(await troupe.client.redrive({ letter: id })).toMatchObject([{ status: 'again', messageId: 'inbox-1' }])
      expect(await troupe.client.redrive({ all: true })).toEqual([])
      await expect(troupe.client.redrive({})).rejects.toMatchObject({ code: 'input_invalid' })
      expect(await troupe.client.deadLetters()).toMatchObject([{ id, redrivenAs: 'inbox-1' }])
      expect(await troupe.client.health()).toMatchObject({ deadLetters: 1, settled: 1 })
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )

  test('a message that was put aside is refused with the reason if its worker takes no more messages', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('echo', 'hello')
    await blame(troupe, session.rootId)
    await troupe.startNode({ echo })
    await session.result()
    const refused = { code: 'session_finished', message: expect.stringContaining(session.rootId) }
    const [letter] = await troupe.client.deadLetters()
    await expect(troupe.client.redrive({ letter: letter?.id ?? '' })).rejects.toMatchObject(refused)
    const told = [{ status: 'refused', messageId: null, refusal: refused }]
    expect(await troupe.client.redrive({ workerId: session.rootId })).toMatchObject(told)
    expect(await troupe.client.redrive({ all: true })).toMatchObject(told)
    await troupe.client.sessions.prune({ olderThanMs: 0 })
    const gone = { code: 'worker_not_found', message: expect.stringContaining('pruned') }
    expect(await troupe.client.redrive({ workerId: session.rootId })).toMatchObject([{ refusal: gone }])
    await expect(troupe.client.redrive({ workerId: rootIdOf(newId(0)) })).rejects.toMatchObject(gone)
    await expect(troupe.client.redrive({ letter: '1-1' })).rejects.toMatchObject({ code: 'letter_not_found' })
    const other = rootIdOf(newId(0))
    await expect(troupe.client.redrive({ letter: letter?.id ?? '', workerId: other })).rejects.toMatchObject({
      code: 'letter_not_found',
      message: expect.stringContaining(`of worker ${other}`),
    })
  })

  test('a message that was put aside is dismissed if it cannot go back, and doctor warns of it no more', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('echo', 'hello')
    await blame(troupe, session.rootId)
    await troupe.startNode({ echo })
    await session.result()
    const told: unknown[] = []
    const [letter] = await troupe.client.deadLetters()
    const { id = '', workerId = '' } = letter ?? {}
    const dismissed = { letterId: id, workerId, status: 'dismissed', refusal: null }
    expect(await troupe.client.dismiss({ all: true, onProgress: (one) => void told.push(one) })).toEqual([dismissed])
    expect(told).toEqual([dismissed])
    expect(await troupe.client.deadLetters()).toEqual([{ ...letter, dismissed: true }])
    expect(await troupe.client.health()).toMatchObject({ deadLetters: 1, settled: 1 })
    expect(await troupe.client.dismiss({ workerId })).toEqual([])
    expect(await troupe.client.redrive({ all: true })).toEqual([])
    expect(await troupe.client.dismiss({ letter: id })).toEqual([{ ...dismissed, status: 'again' }])
    await expect(troupe.client.redrive({ letter: id })).rejects.toMatchObject({ code: 'session_finished' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a message that went back is not dismissed, and one that was dismissed goes back by its id', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody', 'first', { keepOpen: true })
    const { dead } = partitionKeys(troupe.tag)
    const add = (worker: string) =>
      troupe.redis.xadd(dead, '*', 'worker', worker, 'mail', encodeInput(null, '1'), 'evidence', '{}')
    const [first, second] = [await add(session.rootId), await add(session.rootId)] as [string, string]
    await troupe.client.redrive({ letter: first })
    const refusal = { code: 'input_invalid', message: expect.stringMatching(/was put back, as message inbox-1:/) }
    await expect(troupe.client.dismiss({ letter: first })).rejects.toMatchObject(refusal)
    expect(await troupe.client.dismiss({ workerId: session.rootId })).toMatchObject([{ letterId: second }])
    expect(await troupe.client.redrive({ letter: second })).toMatchObject([
      { status: 'redriven', messageId: 'inbox-2' },
    ])
    expect(await troupe.client.deadLetters()).toMatchObject([
      { redrivenAs: 'inbox-2', dismissed: false },
      { redrivenAs: 'inbox-1', dismissed: false },
    ])
    // Somebody wrote some letters by hand: one names a worker that cannot exist, one names none.
    const foreign = [await add('w'), await troupe.redis.xadd(dead, '*', 'evidence', '{}')]
    expect(await troupe.client.dismiss({ all: true })).toMatchObject(
      foreign.map((letterId) => ({ letterId, status: 'dismissed' })),
    )
    await expect(troupe.client.dismiss({ letter: '1-1' })).rejects.toMatchObject({ code: 'letter_not_found' })
    await expect(troupe.client.dismiss({ workerId: rootIdOf(newId(0)) })).rejects.toMatchObject({
      code: 'worker_not_found',
    })
  })

  test('a message that was put aside is refused with the limit if the mailbox is full, and is put back once there is room', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('echo', 'hello', { keepOpen: true, limits: { mailbox: 1 } })
    await blame(troupe, session.rootId)
    const node = await troupe.startNode({ echo })
    await session.result({ run: 1 })
    await node.stop()
    await session.root.send('meanwhile')
    const refusal = { code: 'mailbox_full', message: expect.stringMatching(/\b1\b.*message/) }
    const [full] = await troupe.client.redrive({ all: true })
    expect(full).toMatchObject({ status: 'refused', refusal })
    await troupe.startNode({ echo })
    expect(await session.result({ run: 2 })).toMatchObject({ value: 'meanwhile' })
    expect(await troupe.client.redrive({ all: true })).toMatchObject([{ status: 'redriven' }])
    expect(await session.result({ run: 3 })).toMatchObject({ value: 'hello' })
  })

  test('a message that was put aside is shown as it is stored if its evidence cannot be read', async () => {
    await using troupe = await TestTroupe.connect()
    const { dead } = partitionKeys(troupe.tag)
    for (const evidence of ['{"step":', '5', 'null', '{"step":7}'])
      await troupe.redis.xadd(dead, '*', 'session', 's', 'worker', 'w', 'evidence', evidence)
    await troupe.redis.xadd(dead, '*', 'worker', 'w')
    expect(await troupe.client.deadLetters()).toMatchObject([
      { sessionId: '', killedBy: 'a message', message: null, evidence: {} },
      { sessionId: 's', workerId: 'w', killedBy: 'a message', evidence: { step: 7 } },
      { killedBy: 'a message', evidence: { unreadable: 'null' } },
      { killedBy: 'a message', evidence: { unreadable: '5' } },
      { killedBy: 'a message', evidence: { unreadable: '{"step":' } },
    ])
  })
})

describe('a handler that is killed by a result of a child', () => {
  test('a handler that is killed by a result of a child has received it, and leaves evidence but no message to put back', async () => {
    const gate = Promise.withResolvers<void>()
    const workers = {
      parent: defineWorker({ receive: (_, self) => void self.spawn('gated', null) }),
      gated: defineWorker({ receive: () => gate.promise }),
    }
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.create('parent', 'go', { keepOpen: true })
    await waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')
    await blame(troupe, session.rootId)
    gate.resolve()
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed', failure: { code: 'poison' } })
    const letters = await troupe.client.deadLetters()
    expect(letters).toMatchObject([
      { workerId: session.rootId, message: null, killedBy: expect.stringMatching(/^message .* \(result\)$/) },
    ])
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['received', 'received', 'failed'])
    expect(await session.root.mailbox()).toEqual([])
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})

describe('an agent that is killed at a recorded step', () => {
  test('an agent that is killed at a recorded step leaves evidence of the step, and its parent gets one failure', async () => {
    const [started, hangs] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
    hangs.promise.catch(() => {})
    const deadly = defineTool({
      name: 'deadly',
      description: 'x',
      effect: 'pure',
      run: () => {
        started.resolve()
        return hangs.promise
      },
    })
    const workers = {
      parent: defineWorker<{ told: unknown[] }>({
        initial: { told: [] },
        receive(message, self) {
          if (message.kind === 'input') {
            self.spawn('agent', 'go')
            self.after(1, 'look')
          } else if (message.kind === 'result') {
            self.setState({ told: [...self.state.told, message.failure?.code] })
            self.reply(self.state.told)
          }
        },
      }),
      agent: defineWorker({
        instructions: 'x',
        model: recordedModel('test/m', [call('deadly', {}, 'c1'), say('unused')]),
        tools: [deadly],
      }),
    }
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(workers)
    const session = await troupe.create('parent', 'go', { keepOpen: true })
    await started.promise
    await first.stop({ force: true })
    const child = (await session.report()).workers.find(({ kind }) => kind === 'agent')?.id ?? ''
    await blame(troupe, child)
    await troupe.startNode(workers)
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: ['poison'] })
    const letters = await troupe.client.deadLetters()
    expect(letters).toMatchObject([
      { workerId: child, message: null, killedBy: 'tool call deadly (c1)', evidence: { run: 1, kind: 'agent' } },
    ])
    await expect(troupe.client.redrive({ letter: letters[0]?.id ?? '' })).rejects.toThrow(/tool call deadly \(c1\)/)
    const told = (await troupe.history(session.rootId)).filter(
      (entry) => entry.type === 'received' && entry.message.kind === 'result',
    )
    expect(told).toHaveLength(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
