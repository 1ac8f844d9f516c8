/** Types of inputs and results: a wrong one is an error of the compiler, at the value that is wrong. */
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type {
  AgentResult,
  Definition,
  Message,
  RunResult,
  Self,
  Session,
  Tool,
  Troupe,
  WorkerDefinition,
  WorkerRef,
} from '../../src/index.ts'
import { defineTool, defineWorker, isResultOf } from '../../src/index.ts'
import { testAgent, testHandler } from '../../src/testing/index.ts'

declare const troupe: Troupe
declare const self: Self

const page = z.object({ url: z.string(), depth: z.number().default(1) })
const reader = defineWorker({
  kind: 'reader',
  input: page,
  output: z.object({ title: z.string(), tags: z.array(z.string()).default([]) }),
  receive(message, { reply }) {
    if (message.kind !== 'input') return
    expectTypeOf(message.value).toEqualTypeOf<{ readonly url: string; readonly depth: number }>()
    // What has a default may be left out.
    reply({ title: message.value.url })
    // @ts-expect-error -- the title is a text
    reply({ title: 1 })
  },
})
const untyped = defineWorker({ kind: 'untyped', receive: (_, { reply }) => reply(1) })
const sorter = defineWorker({ kind: 'sorter', instructions: 'You sort mail.', input: z.object({ mail: z.string() }) })
const extractor = defineWorker({
  kind: 'extractor',
  instructions: 'You find titles.',
  input: z.object({ page: z.string() }),
  output: z.object({ title: z.string(), tags: z.array(z.string()).default([]) }),
})
type Title = { title: string; tags: string[] }

test('a session that is created by a definition takes its input and has its result', async () => {
  const session = await troupe.sessions.create(reader, { input: { url: 'a' }, name: 'one' })
  expectTypeOf(session).toEqualTypeOf<Session<Title>>()
  expectTypeOf(await session.result()).toEqualTypeOf<RunResult<Title>>()
  // @ts-expect-error -- the url is a text
  await troupe.sessions.create(reader, { input: { url: 1 } })
  // @ts-expect-error -- an input is missing
  await troupe.sessions.create(reader, {})
  await troupe.sessions.create(sorter, { history: [], keepOpen: true })
  // @ts-expect-error -- a job needs an input
  await troupe.sessions.create(sorter, { history: [] })
  // @ts-expect-error -- the kind is that of the definition
  await troupe.sessions.create(reader, { kind: 'reader', input: { url: 'a' } })
})

test('sessions that are created together take the input of their definition', async () => {
  const settled = await troupe.sessions.createMany(reader, [{ input: { url: 'a' } }, { input: { url: 'b', depth: 2 } }])
  expectTypeOf(settled).toEqualTypeOf<PromiseSettledResult<Session<Title>>[]>()
  // @ts-expect-error -- the url is a text
  await troupe.sessions.createMany(reader, [{ input: { url: 1 } }])
})

test('a session that is created by a name takes any input, and its result is unknown', async () => {
  const session = await troupe.sessions.create({ kind: 'reader', input: 1 })
  expectTypeOf(await session.result()).toEqualTypeOf<RunResult>()
  const [one] = await troupe.sessions.createMany([{ kind: 'reader', input: 1 }])
  expectTypeOf(one).toEqualTypeOf<PromiseSettledResult<Session> | undefined>()
})

test('a definition without schemas takes any input, and its result is unknown', async () => {
  const session = await troupe.sessions.create(untyped, { input: ['anything'] })
  expectTypeOf(session).toEqualTypeOf<Session<unknown>>()
  self.spawn(untyped, { any: 'thing' })
})

test('the result of an agent is that of its model, whatever its input', async () => {
  const session = await troupe.sessions.create(sorter, { input: { mail: 'hello' } })
  expectTypeOf(session).toEqualTypeOf<Session<AgentResult>>()
  // @ts-expect-error -- the mail is a text
  await troupe.sessions.create(sorter, { input: { mail: 1 } })
})

test('a child that is spawned by a definition takes its input, and so do messages to it', () => {
  const child = self.spawn(reader, { url: 'a' }, { name: 'one' })
  expectTypeOf(child).toEqualTypeOf<WorkerRef<{ url: string; depth?: number | undefined }>>()
  self.send(child, { url: 'b' })
  // @ts-expect-error -- the url is a text
  self.spawn(reader, { url: 1 })
  // @ts-expect-error -- the url is missing
  self.send(child, { depth: 1 })
  self.send(child.id, 'to an id, anything may be sent')
  self.send(self.spawn('reader', 1), 2)
})

test('values that are read-only may be passed on', () => {
  const copier = defineWorker({
    initial: { pages: [{ url: 'a', depth: 1 }], title: { title: 'a', tags: ['b'] } },
    output: z.object({ title: z.string(), tags: z.array(z.string()) }),
    receive(_, { state, spawn, reply }) {
      for (const one of state.pages) spawn(reader, one)
      reply(state.title)
    },
  })
  expectTypeOf(copier).toExtend<Definition<unknown, { title: string; tags: string[] }>>()
})

test('a result is told apart by its definition, and other results are still seen behind it', () => {
  const handle = (message: Message<string>): unknown => {
    if (isResultOf(message, reader)) {
      expectTypeOf(message.name).toEqualTypeOf<string>()
      if (message.status !== 'completed') return message.failure.code
      expectTypeOf(message.value).toEqualTypeOf<{ readonly title: string; readonly tags: readonly string[] }>()
      return message.value.title
    }
    if (isResultOf(message, sorter) && message.status === 'completed') return message.value.text
    if (message.kind === 'result') return message.status === 'failed' ? message.failure.message : message.value
    if (message.kind === 'input') expectTypeOf(message.value).toEqualTypeOf<string>()
    return null
  }
  expectTypeOf(handle).returns.toEqualTypeOf<unknown>()
})

test('the result of an agent with an output has its type', async () => {
  const session = await troupe.sessions.create(extractor, { input: { page: 'a' } })
  const result = await session.result()
  if (result.status === 'completed') {
    expectTypeOf(result.value.output).toEqualTypeOf<Title>()
    expectTypeOf(result.value.text).toEqualTypeOf<string>()
  }
  self.spawn(extractor, { page: 'a' })
  // @ts-expect-error -- the page is a text
  self.spawn(extractor, { page: 1 })
  const handle = (message: Message<string>) => {
    if (isResultOf(message, extractor) && message.status === 'completed')
      expectTypeOf(message.value.output.tags).toEqualTypeOf<readonly string[]>()
  }
  expectTypeOf(handle).toBeFunction()
})

test('the reply of a worker under test has the type of its result', async () => {
  expectTypeOf((await testHandler(reader)).reply).toEqualTypeOf<Title | undefined>()
  expectTypeOf((await testHandler(untyped)).reply).toEqualTypeOf<unknown>()
  expectTypeOf((await testAgent(sorter, { replies: [] })).reply).toEqualTypeOf<AgentResult | undefined>()
  expectTypeOf((await testAgent(extractor, { replies: [] })).reply?.output).toEqualTypeOf<Title | undefined>()
})

test('a terminal tool needs neither an effect nor a run, and any other tool needs both', () => {
  const input = z.object({ a: z.string() })
  expectTypeOf(defineTool({ name: 'submit', description: 'Hands it in.', terminal: true, input })).toEqualTypeOf<Tool>()
  // @ts-expect-error -- run and effect are missing
  defineTool({ name: 'submit', description: 'Hands it in.' })
})

test('every definition is a WorkerDefinition and a Definition', () => {
  const workers: Readonly<Record<string, WorkerDefinition>> = { reader, untyped, sorter, extractor }
  const all: readonly Definition[] = [reader, untyped, sorter, extractor]
  expectTypeOf(workers).toExtend<Readonly<Record<string, WorkerDefinition>>>()
  expectTypeOf(all).toExtend<readonly Definition[]>()
})

test('a handler may wait for its own kind', () => {
  const counter = defineWorker({
    kind: 'counter',
    input: z.number(),
    output: z.number(),
    receive(message, { spawn, reply }) {
      if (message.kind === 'input' && message.value > 0) spawn('counter', message.value - 1)
      else if (message.kind === 'result') reply(Number(message.value) + 1)
      else reply(0)
    },
  })
  expectTypeOf(counter).toExtend<Definition<number, number>>()
})
