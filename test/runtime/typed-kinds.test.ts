/** Definitions in place of names: inputs are checked where they are passed, results where a run ends, and both by their fields. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Session } from '../../src/client/session/session.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { type Definition, isResultOf } from '../../src/core/definition/kind-types.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const reader = defineWorker({
  kind: 'reader',
  input: z.object({ url: z.string(), depth: z.coerce.number().default(1) }),
  output: z.object({ title: z.string(), depth: z.number().default(0) }),
  receive(message, self) {
    if (message.kind === 'input') self.reply({ title: `page ${message.value.url}`, depth: message.value.depth })
  },
})
const wrong = { url: 7 } as never
const problem = 'the input of reader does not fit its schema: url: expected string, received number'

async function kindsOf(sessions: readonly Session[]): Promise<string[]> {
  return Promise.all(sessions.map(async (session) => (await session.summary()).kind))
}

test('a definition creates sessions of its kind: one, and several together', async () => {
  await using troupe = await TestTroupe.start({ workers: { reader } })
  const { sessions } = troupe.client
  const one = await sessions.create(reader, { input: { url: 'a' }, name: 'first' })
  expect(await one.result()).toMatchObject({ status: 'completed', value: { title: 'page a', depth: 1 } })
  const many = await sessions.createMany(reader, [{ input: { url: 'b' } }, { input: { url: 'c', depth: 3 } }])
  const created = many.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  expect(await kindsOf([one, ...created])).toEqual(['reader', 'reader', 'reader'])
  expect((await one.summary()).name).toBe('first')
  expect(await Promise.all(created.map(async (session) => session.result()))).toMatchObject([
    { value: { title: 'page b', depth: 1 } },
    { value: { title: 'page c', depth: 3 } },
  ])
})

test('an input that does not fit is refused where the session would be created, and no other with it', async () => {
  await using troupe = await TestTroupe.start({ workers: { reader } })
  const { sessions } = troupe.client
  await expect(sessions.create(reader, { input: wrong })).rejects.toMatchObject({
    code: 'input_invalid',
    message: problem,
  })
  const many = await sessions.createMany(reader, [{ input: wrong }, { input: { url: 'a' } }, 'no request' as never])
  expect(many).toMatchObject([
    { status: 'rejected', reason: { message: problem } },
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'input_invalid' } },
  ])
  expect(await sessions.list()).toHaveLength(1)
})

test('an input is checked as the JSON that its worker will receive', async () => {
  const dated = defineWorker({ kind: 'dated', input: z.object({ at: z.iso.datetime() }), receive() {} })
  await using troupe = await TestTroupe.start({ workers: { dated } })
  const at = new Date(0) as unknown as string
  const session = await troupe.client.sessions.create(dated, { input: { at } })
  expect(await session.result()).toMatchObject({ status: 'completed' })
})

test('a name alone creates a session whatever its input, and the run says which field does not fit', async () => {
  await using troupe = await TestTroupe.start({ workers: { reader } })
  expect(await troupe.run('reader', wrong)).toMatchObject({
    status: 'failed',
    failure: { code: 'input_invalid', message: problem },
  })
})

test('a parent spawns by a definition, and knows by it the type of the results of its children', async () => {
  const other = defineWorker({ kind: 'other', receive: (_, self) => self.reply('other') })
  const parent = defineWorker({
    kind: 'parent',
    initial: [] as string[],
    await: 'all',
    receive(message, self) {
      if (message.kind === 'input') {
        self.send(self.spawn(reader, { url: 'a' }, { name: 'first' }), { url: 'later' })
        self.spawn(other, null)
      } else {
        const isRead = isResultOf(message, reader) && message.status === 'completed'
        self.setState([...self.state, isRead ? message.value.title : isResultOf(message, other) ? 'other' : '?'])
        if (self.openChildren === 0) self.reply(self.state)
      }
    },
  })
  await using troupe = await TestTroupe.start({ workers: { parent, reader, other } })
  expect(await troupe.run('parent')).toMatchObject({ value: ['page a', 'other'] })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('an input that does not fit fails the parent that passes it, and spawns nothing', async () => {
  const parent = defineWorker({ receive: (_, self) => void self.spawn(reader, wrong) })
  await using troupe = await TestTroupe.start({ workers: { parent, reader } })
  const session = await troupe.create('parent')
  expect(await session.result()).toMatchObject({
    status: 'failed',
    failure: { code: 'input_invalid', message: problem },
  })
  expect((await session.report()).workers).toHaveLength(1)
})

const named = z.object({ name: z.string() })

describe('an output', () => {
  test.each([
    ['that fits', named, { name: 'a' }, { name: 'a' }],
    ['with a field that the schema does not know', named, { name: 'a', more: 1 }, { name: 'a' }],
    ['with a default', named.extend({ n: z.number().default(3) }), { name: 'a' }, { name: 'a', n: 3 }],
    ['that the schema changes', z.coerce.number(), '7', 7],
    ['of null, where the schema allows it', z.string().nullable(), null, null],
  ])('an output with %s is recorded as the schema returns it', async (_, output, reply, result) => {
    const worker = defineWorker({ output: output as z.ZodType, receive: (_message, self) => self.reply(reply) })
    await using troupe = await TestTroupe.start({ workers: { worker } })
    expect(await troupe.run('worker')).toMatchObject({ status: 'completed', value: result })
  })

  test.each([
    ['that does not fit', { name: 1 }, /^the result of worker does not fit its output schema: name: expected string/],
    ['that was forgotten', undefined, /: expected object, received null\. The run ended without a reply: call self/],
  ])('an output with %s fails the run at once, and the failure names the field', async (_, reply, message) => {
    let received = 0
    const worker = defineWorker<number, unknown, unknown, unknown>({
      initial: 0,
      output: named,
      receive(_message, self) {
        received++
        self.setState(1)
        if (reply !== undefined) self.reply(reply)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { worker } })
    const session = await troupe.create('worker', null, { keepOpen: true })
    const failure = { code: 'run_failed', attempt: 1, message: expect.stringMatching(message) as string }
    expect(await session.result()).toMatchObject({ status: 'failed', failure })
    expect(received).toBe(1)
    expect((await troupe.client.workers.get(session.rootId).report()).state).not.toBe(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('an output may be absent if the schema makes a value of null', async () => {
    const worker = defineWorker({ output: z.preprocess((value) => value ?? 'none', z.string()), receive() {} })
    await using troupe = await TestTroupe.start({ workers: { worker } })
    expect(await troupe.run('worker')).toMatchObject({ status: 'completed', value: 'none' })
  })

  test('an output is required when the run ends, not while children are open', async () => {
    const parent = defineWorker({
      output: named,
      receive(message, self) {
        if (message.kind === 'input') self.spawn(reader, { url: 'a' })
        else self.reply({ name: 'done' })
      },
    })
    await using troupe = await TestTroupe.start({ workers: { parent, reader } })
    expect(await troupe.run('parent')).toMatchObject({ value: { name: 'done' } })
  })
})

describe('a definition in place of a name is refused', () => {
  const nameless: Definition = defineWorker({ receive() {} })

  test('a definition without a kind is refused with a sentence that says what to write', async () => {
    await using troupe = await TestTroupe.connect()
    const { sessions } = troupe.client
    const message = expect.stringMatching(/sessions\.create got a definition without a kind.*kind: 'reader'/) as string
    await expect(sessions.create(nameless, { input: 1 })).rejects.toMatchObject({ code: 'input_invalid', message })
  })

  test.each([
    ['as the option kind', { kind: reader as never, input: null }, undefined, /pass a definition in front/],
    ['beside the option kind', reader, { kind: 'reader', input: { url: 'a' } }, /leave the option kind out/],
    ['without an object behind it', reader, 'a', /sessions\.create takes an object with kind, input/],
  ])('%s', async (_, first, second, message) => {
    await using troupe = await TestTroupe.connect()
    const create = troupe.client.sessions.create as (...given: unknown[]) => Promise<Session>
    await expect(create(first, second)).rejects.toThrow(message)
  })

  test('a definition is refused by a node that would host it under another name', async () => {
    await using troupe = await TestTroupe.connect()
    await expect(troupe.startNode({ scanner: reader })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/^kind "scanner" is defined with kind: "reader"/) as string,
    })
  })
})
