/** A definition is checked when it is made, and the error names the field. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as zodThree } from 'zod/v3'
import {
  defineWorker,
  type HandlerWorker,
  isAgentDefinition,
  isWorkerDefinition,
  type Self,
} from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { ConfigError } from '../../../src/core/errors.ts'
import type { Message } from '../../../src/core/worker/message/message.ts'

const receive = () => {}
const define = (worker: unknown) => defineWorker(worker as HandlerWorker)

describe('defineWorker', () => {
  test('returns a frozen definition that isWorkerDefinition recognises', () => {
    const definition = defineWorker({ description: 'Says it again.', receive })
    expect(isWorkerDefinition(definition)).toBe(true)
    expect(Object.isFrozen(definition)).toBe(true)
    expect(definition).toMatchObject({ description: 'Says it again.', receive })
  })

  test('accepts all documented fields', () => {
    const full = {
      description: 'x',
      state: z.object({ n: z.number() }),
      initial: { n: 0 },
      input: z.string(),
      spawns: ['reader', 'a/b'],
      pool: 'gpu',
      retries: 0,
      timeoutMs: 1_000,
      await: 'all',
      receive,
    }
    expect(isWorkerDefinition(define(full))).toBe(true)
    const most = { await: 'each', timeoutMs: 2_147_483_647, retries: 1_000, receive }
    expect(isWorkerDefinition(define(most))).toBe(true)
  })

  test.each([
    ['nothing', undefined, /takes an object with a receive function/],
    ['a function', receive, /takes an object with a receive function/],
    ['no receive', {}, /needs a receive function/],
    ['a receive that is no function', { receive: 'x' }, /needs a receive function/],
    [
      'an unknown field',
      { receive, recieve: receive },
      /does not know the field "recieve" of a handler; it takes kind, description, /,
    ],
    ['an unknown way to await results', { receive, await: 'some' }, /await must be 'each' or 'all', not "some"/],
    [
      'a field that is nearly one',
      { receive, retires: 1 },
      /does not know the field "retires" .* Did you mean retries\?$/,
    ],
    [
      'an input that is no schema',
      { receive, input: { a: 'string' } },
      /^input must be a zod schema, .*, not an object\.$/,
    ],
    [
      'an input of zod 3',
      { receive, input: zodThree.string() },
      /^input is a schema of zod 3, but must be one of zod 4: npm install zod@4$/,
    ],
    ['an input that is null', { receive, input: null }, /^input must be a zod schema, .*, not null\.$/],
    [
      'a state that is no schema',
      { receive, state: { n: 'number' }, initial: { n: 0 } },
      /^state must be a zod schema/,
    ],
    [
      'an initial state that JSON cannot hold',
      { receive, initial: 1n },
      /^initial cannot be written as JSON: .*a bigint has no JSON form/,
    ],
    [
      'an initial state that is a function',
      { receive, initial: () => 0 },
      /^initial cannot be written as JSON: a function/,
    ],
    ['a state schema without initial', { receive, state: z.string() }, /state schema needs an initial state/],
    ['a pool with a colon', { receive, pool: 'a:b' }, /pool "a:b" is not a valid name of a pool/],
    ['the pool that is reserved', { receive, pool: 'unhosted' }, /pool "unhosted" is reserved/],
    ['a kind that is none', { receive, spawns: ['ok', '../x'] }, /spawns names "\.\.\/x", which is not a worker kind/],
    ['a name that is no kind', { receive, kind: 'My Kind' }, /kind "My Kind" is not a worker kind/],
    ['an output that is no schema', { receive, output: { n: 1 } }, /output must be a zod schema/],
    ['no child at once', { receive, childrenAtOnce: 0 }, /childrenAtOnce must be a whole number from 1 to 1000, not 0/],
    ['limits that are no object', { receive, limits: 4 }, /limits must be an object like \{ children: 100 \}, not 4/],
    [
      'an unknown limit',
      { receive, limits: { child: 1 } },
      /limits of a handler may hold children, depth, not "child"/,
    ],
    ['half a child', { receive, limits: { children: 0.5 } }, /limits\.children must be a whole number from 1 to 1000/],
    [
      'a tree that is too deep',
      { receive, limits: { depth: 65 } },
      /limits\.depth must be a whole number from 1 to 64/,
    ],
    ['a kind in capitals', { receive, spawns: ['Counter'] }, /"Counter", .*a lower-case letter or a digit first/],
    ['kinds that are no list', { receive, spawns: 'reader' }, /spawns/],
    ['a pool that is no text', { receive, pool: 1n }, /^pool 1n is not a valid name of a pool/],
    ['negative retries', { receive, retries: -1 }, /retries/],
    ['half a retry', { receive, retries: 1.5 }, /retries/],
    ['a timeout of nothing', { receive, timeoutMs: 0 }, /timeoutMs/],
    ['a timeout that timers cannot hold and would fire at once', { receive, timeoutMs: 2 ** 31 }, /timeoutMs/],
  ])('%s throws a ConfigError that names it', (_, worker, message) => {
    expect(() => define(worker)).toThrow(ConfigError)
    expect(() => define(worker)).toThrow(message)
  })

  test('a handler is not an agent', () => {
    expect(isAgentDefinition(defineWorker({ receive }))).toBe(false)
  })

  test('isWorkerDefinition accepts only definitions that defineWorker made', () => {
    for (const value of [{ receive }, null, undefined, 'x', receive]) expect(isWorkerDefinition(value)).toBe(false)
  })
})

describe('an agent', () => {
  const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'seen' })
  const instructions = 'You look around.'

  test('an agent needs only instructions, and isAgentDefinition recognises it', () => {
    const definition = defineWorker({ instructions })
    expect(isWorkerDefinition(definition)).toBe(true)
    expect(isAgentDefinition(definition)).toBe(true)
    expect(Object.isFrozen(definition)).toBe(true)
    expect(definition.instructions).toBe(instructions)
  })

  test('an agent accepts all documented fields', () => {
    const full = {
      description: 'Looks around.',
      instructions: () => instructions,
      model: 'openai/gpt',
      tools: [look],
      spawns: ['reader', 'a/b'],
      limits: { iterations: 1, tokens: 1_000 },
      onUnknown: 'tell',
      input: z.object({ folder: z.string() }),
      folder: () => '.',
      nudge: 'Go on.',
      pool: 'gpu',
      retries: 0,
    }
    expect(isAgentDefinition(defineWorker(full as never))).toBe(true)
    expect(isAgentDefinition(defineWorker({ instructions, onUnknown: 'fail' }))).toBe(true)
  })

  test.each([
    ['both sorts at once', { receive }, /either instructions \(an agent\) or receive \(a handler\), not both/],
    ['an unknown field', { tool: look }, /does not know the field "tool" of an agent; it takes kind, description, /],
    ['a field that is nearly one', { instrctions: 'x' }, /"instrctions" of an agent; .* Did you mean instructions\?$/],
    ['an input that is no schema', { input: 'text' }, /^input must be a zod schema, .*, not "text"\.$/],
    ['a field of handlers', { state: z.string() }, /does not know the field "state" of an agent/],
    ['blank instructions', { instructions: ' ' }, /needs instructions: a text, or a function/],
    ['instructions that are no text', { instructions: 7 }, /needs instructions: a text, or a function/],
    ['tools that are no list', { tools: look }, /tools must be a list/],
    [
      'a tool that was not defined',
      { tools: [{ name: 'look', run: () => 1 }] },
      /an object named "look", which is not a tool/,
    ],
    [
      'a tool that is no object',
      { tools: ['look'] },
      /tools holds "look", which is not a tool: make it with defineTool/,
    ],
    ['two tools of one name', { tools: [look, look] }, /two tools have the name "look"/],
    [
      'a limit that is none',
      { limits: { turns: 3 } },
      /limits of an agent may hold iterations, callsPerReply, toolsAtOnce, blankStops, sameErrors, toolFailures, toolCalls, tokens, runMs, modelIdleMs, modelCallMs, children, depth, not "turns"/,
    ],
    ['no iterations', { limits: { iterations: 0 } }, /limits\.iterations must be a whole number from 1, not 0/],
    ['half a token', { limits: { tokens: 1.5 } }, /limits\.tokens must be a whole number from 1, not 1\.5/],
    ['a text of children at once', { childrenAtOnce: '4' }, /childrenAtOnce must be a whole number from 1 to 1000/],
    ['too many children', { limits: { children: 1001 } }, /limits\.children must be a whole number from 1 to 1000/],
    ['an unknown onUnknown', { onUnknown: 'ask' }, /onUnknown must be "fail" or "tell", not "ask"/],
    ['a folder that is no function', { folder: '.' }, /folder must be a function of the first input/],
    ['a nudge that is no text', { nudge: true }, /nudge must be a text/],
    ['a pool with a colon', { pool: 'a:b' }, /pool "a:b" is not a valid name of a pool/],
    ['a kind that is none', { spawns: ['../x'] }, /spawns names "\.\.\/x", which is not a worker kind/],
    ['negative retries', { retries: -1 }, /retries must be a whole number from 0/],
  ])('an agent with %s throws a ConfigError that names it', (_, fields, message) => {
    expect(() => define({ instructions, ...fields })).toThrow(ConfigError)
    expect(() => define({ instructions, ...fields })).toThrow(message)
  })
})

test('a definition whose state is never null compiles only with an initial state', () => {
  const n = z.object({ n: z.number() })
  const receive = () => {}
  // @ts-expect-error -- the first receive would see null
  expect(isWorkerDefinition(defineWorker<{ n: number }>({ receive }))).toBe(true)
  // @ts-expect-error -- told when it runs as well
  expect(() => defineWorker({ state: n, receive })).toThrow(/needs an initial state/)
  for (const definition of [
    defineWorker<{ n: number } | null>({ receive }),
    defineWorker<unknown>({ receive }),
    defineWorker<{ n: number }>({ initial: { n: 0 }, receive }),
    defineWorker({ initial: { n: 0 }, receive: (_, self) => self.setState({ n: self.state.n + 1 }) }),
    defineWorker({ state: n, initial: { n: 0 }, receive: (_, self) => self.setState({ n: self.state.n + 1 }) }),
  ])
    expect(isWorkerDefinition(definition)).toBe(true)
})

test('messages have the type of the input, and a type for each way in which a child ends', () => {
  const order = defineWorker({
    input: z.object({ price: z.number(), times: z.number().default(1) }),
    initial: { sum: 0, failed: '' },
    receive(message, self) {
      const { sum, failed } = self.state
      if (message.kind === 'input') self.setState({ sum: message.value.price * message.value.times, failed })
      // @ts-expect-error -- nobody knows what a child replied
      else if (message.kind === 'timer' || message.kind === 'answer') self.setState({ sum: message.value, failed })
      else if (message.status !== 'completed') self.setState({ sum, failed: message.failure.message })
      // @ts-expect-error -- it did not fail
      else self.setState({ sum, failed: message.failure.message })
    },
  })
  // @ts-expect-error -- without a schema an input may be anything
  const any = defineWorker({ receive: (message, self) => self.log.info(message.value) })
  const named = defineWorker({
    input: z.string(),
    receive: (message: Message, self: Self) => self.reply(message.value),
  })
  for (const definition of [order, any, named]) expect(isWorkerDefinition(definition)).toBe(true)
})

test('a worker in a variable, or wrapped by a generic function, compiles as it does inline', () => {
  const counter: HandlerWorker<{ n: number }> = { initial: { n: 0 }, receive: (_, self) => self.reply(self.state.n) }
  const patient = <State>(worker: HandlerWorker<State>) => defineWorker<State>({ ...worker, retries: 9 })
  // @ts-expect-error -- the first receive would see null
  const stateless: HandlerWorker<{ n: number }> = { receive() {} }
  for (const definition of [defineWorker(counter), patient(counter), patient(stateless)])
    expect(isWorkerDefinition(definition)).toBe(true)
})

test('the compiler reports a wrong field of an agent or a handler at that field', () => {
  const receive = () => {}
  const misspelt = () =>
    defineWorker({
      instructions: 'You pay.',
      // @ts-expect-error -- it is called tools
      tool: [],
    })
  expect(misspelt).toThrow(/does not know the field "tool" of an agent/)
  const unmade = () =>
    defineWorker({
      instructions: 'You pay.',
      // @ts-expect-error -- tools are made with defineTool
      tools: [{ name: 'pay' }],
    })
  expect(unmade).toThrow(/make it with defineTool/)
  const awaits = () =>
    defineWorker({
      receive,
      // @ts-expect-error -- each or all
      await: 'some',
    })
  expect(awaits).toThrow(/await must be 'each' or 'all'/)
  // @ts-expect-error -- an agent has no receive
  expect(() => defineWorker({ instructions: 'You pay.', receive })).toThrow(/not both/)
})
