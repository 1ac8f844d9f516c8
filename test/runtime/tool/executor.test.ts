/** How calls of tools end, and what reaches others of them. */
import { expect, test } from 'vitest'
import type { Json } from '../../../src/core/chat-message.ts'
import { defineTool, type Tool, type ToolContext, type ToolDefinition } from '../../../src/core/define-tool.ts'
import { InputError, LeaseLostError, TerminalError, TransientError } from '../../../src/core/errors.ts'
import { policy } from '../../../src/core/policy.ts'
import { ToolExecutor, type ToolThreads } from '../../../src/runtime/tool/executor.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { callParts, type SeenCall } from './support/call-parts.ts'

const noThreads: ToolThreads = {
  attempt: () => {
    throw new Error('no thread is to be asked for')
  },
}
const executor = new ToolExecutor(noThreads)

function toolOf(run: ToolDefinition['run'], more: Partial<ToolDefinition> = {}): Tool {
  return defineTool({ name: 'a', description: 'For tests.', effect: 'pure', run, ...more })
}

function runOf(tool: Tool, seen: SeenCall = callParts(), input: unknown = {}) {
  return executor.run({ tool, input, parts: seen.parts })
}

const failure = (message: string) => ({
  kind: 'failed',
  output: { type: 'error-text', value: `Error: ${message}` },
  facts: {},
})

test('what a tool returns is its output, at once or later', async () => {
  expect(await runOf(toolOf(() => 'now'))).toEqual({ kind: 'done', output: { type: 'text', value: 'now' }, facts: {} })
  expect(await runOf(toolOf(async () => ({ a: 1 })))).toMatchObject({ output: { type: 'json', value: { a: 1 } } })
  expect(await runOf(toolOf(() => 'x'.repeat(9), { outputBytesMax: 5 }))).toMatchObject({
    output: { value: expect.stringMatching(/^xxxxx\n\[Output cut: /) as string },
  })
})

test('a tool sees its input and the whole context', async () => {
  const facts = { part: { n: 1 } }
  const child = { workerId: 'c', name: 'c', kind: 'k', status: 'completed', facts: { n: 1 }, given: [] } as const
  const seen = callParts({ facts, children: [child], attempt: 3, depth: 2, folder: import.meta.dirname })
  let given: unknown
  let context: ToolContext | undefined
  await runOf(
    toolOf((input, itsContext) => {
      given = input
      context = itsContext
    }),
    seen,
    { q: 1 },
  )
  expect(given).toEqual({ q: 1 })
  const { signal: _signal, folder: _folder, onProgress: _onProgress, ...plain } = seen.parts
  expect(context).toMatchObject(plain)
  expect(context?.facts).toEqual(facts)
  expect(context?.facts.constructor).toBeUndefined()
  expect(context?.children[0]?.facts).toEqual({ n: 1 })
  expect(context?.children[0]?.facts.constructor).toBeUndefined()
  expect(context?.workspace?.root).toBe(import.meta.dirname)
  expect(context?.signal.aborted).toBe(false)
})

test('a tool may wrap its context, or hand on a part of it (CC3, CC4)', async () => {
  const seen = callParts({ facts: { part: 1 }, input: { order: 1 } })
  const made: unknown[] = []
  const tool = toolOf((_input, context) => {
    const wrapped = [new Proxy(context, {}), Object.create(context) as ToolContext, { ...context }]
    for (const { facts, input, children, attempt } of wrapped)
      made.push([facts === context.facts, input === context.input, children === context.children, attempt])
  })
  expect(await runOf(tool, seen)).toMatchObject({ kind: 'done' })
  expect(made).toEqual(Array.from({ length: 3 }, () => [true, true, true, 1]))
})

test('what it throws is told to the model, whatever it is (EX1, EX3)', async () => {
  const throwing = (error: unknown) =>
    runOf(
      toolOf(() => {
        throw error
      }),
    )
  expect(await throwing(new Error('out of paper'))).toEqual(failure('out of paper'))
  expect(await throwing(new InputError('no such note'))).toEqual(failure('no such note'))
  expect(await throwing(new LeaseLostError('a foreign error'))).toEqual(failure('a foreign error'))
  expect(await throwing('a text')).toEqual(failure('a text'))
  expect(await throwing(undefined)).toMatchObject({ kind: 'failed' })
  expect(await runOf(toolOf(() => Promise.reject(new Error('later'))))).toEqual(failure('later'))
  const hostile = new Proxy(new Error('x'), {
    get() {
      throw new Error('from the getter')
    },
  })
  expect(await throwing(hostile)).toMatchObject({ kind: 'failed' })
  const classless = new Proxy(new Error('x'), {
    getPrototypeOf() {
      throw new Error('from the trap')
    },
  })
  expect(await throwing(classless)).toEqual(failure('a value was thrown that cannot be read'))
})

test('an output that is no JSON is a failure', async () => {
  expect(await runOf(toolOf(() => 1n))).toMatchObject({ kind: 'failed', output: { type: 'error-text' } })
})

test('a TransientError asks for another try, a TerminalError ends the run', async () => {
  const [later, soon, never] = [
    new TransientError('busy', { retryAfterMs: 7 }),
    new TransientError('busy'),
    new TerminalError('no'),
  ]
  const throwing = (error: Error) =>
    runOf(
      toolOf(async () => {
        throw error
      }),
    )
  expect(await throwing(later)).toEqual({ kind: 'transient', error: later })
  expect(await throwing(soon)).toEqual({ kind: 'transient', error: soon })
  expect(await throwing(never)).toEqual({ kind: 'fatal', error: never })
})

test('a tool that ignores its signal is left behind when its time is over', async () => {
  const seen = callParts()
  let late: ((value: string) => void) | undefined
  let signal: AbortSignal | undefined
  const tool = toolOf(
    (_input, context) => {
      signal = context.signal
      return new Promise((resolve) => {
        late = resolve
      })
    },
    { timeoutMs: 20 },
  )
  expect(await runOf(tool, seen)).toEqual({
    kind: 'unfinished',
    output: {
      type: 'error-text',
      value: "Error: 'a' did not finish within 20 ms and was stopped. Part of what it does may have taken effect.",
    },
  })
  expect(signal?.aborted).toBe(true)
  expect(signal?.reason).toMatchObject({ message: 'tool "a" did not finish within 20 ms.' })
  late?.('too late')
})

test('the signal of a tool that has ended does not fire when its time would be over', async () => {
  const signals: AbortSignal[] = []
  const quick = toolOf((_input, { signal }) => void signals.push(signal), { timeoutMs: 10 })
  expect(await runOf(quick)).toMatchObject({ kind: 'done' })
  const slow = toolOf((_input, { signal }) => new Promise(() => signals.push(signal)), { timeoutMs: 20 })
  expect(await runOf(slow)).toMatchObject({ kind: 'unfinished' })
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
})

test('what comes after the end reaches nobody', async () => {
  const seen = callParts()
  let context: ToolContext | undefined
  let reject: ((error: Error) => void) | undefined
  const tool = toolOf((_input, itsContext) => {
    context = itsContext
    return new Promise((_resolve, itsReject) => {
      reject = itsReject
    })
  })
  const outcome = runOf(tool, seen)
  await waitUntil('the tool to run', () => context)
  seen.stop.abort()
  expect(await outcome).toEqual({ kind: 'aborted' })
  context?.progress('late')
  context?.setFact('late', 1)
  reject?.(new Error('late'))
  expect(seen.progress).toEqual([])
  expect(seen.lines).toEqual([
    {
      level: 'warn',
      message: 'a fact was set after its call had ended, and is not recorded',
      fields: { tool: 'a', toolCallId: 'call-1', fact: 'late' },
    },
  ])
})

test('when the signal fires nothing is known, though the tool answers to it', async () => {
  const seen = callParts()
  const why = new Error('the node stops')
  let heard: unknown
  const tool = toolOf(
    (_input, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          heard = signal.reason
          resolve('stopped in time')
        })
        seen.stop.abort(why)
      }),
  )
  expect(await runOf(tool, seen)).toEqual({ kind: 'aborted' })
  expect(heard).toBe(why)
})

test('a tool does not begin once the signal has fired, not even while its folder is opened', async () => {
  let began = 0
  const tool = toolOf(() => {
    began += 1
  })
  const before = callParts()
  before.stop.abort()
  expect(await runOf(tool, before)).toEqual({ kind: 'aborted' })
  const meanwhile = callParts({ folder: import.meta.dirname })
  const outcome = runOf(tool, meanwhile)
  meanwhile.stop.abort()
  expect(await outcome).toEqual({ kind: 'aborted' })
  await runOf(tool, callParts({ folder: import.meta.dirname }))
  expect(began).toBe(1)
})

test('no listener stays on the signal of the run', async () => {
  const seen = callParts()
  const counts = { add: 0, remove: 0 }
  const { signal } = seen.parts
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    counts.add += 1
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    counts.remove += 1
    remove(...args)
  }
  await runOf(
    toolOf(() => 1),
    seen,
  )
  expect(counts).toEqual({ add: 1, remove: 1 })
})

test('a folder that cannot be opened fails the call before the tool begins', async () => {
  let began = false
  const tool = toolOf(() => {
    began = true
  })
  const outcome = await runOf(tool, callParts({ folder: '/no/such/folder' }))
  expect(outcome).toMatchObject({
    kind: 'failed',
    output: { value: expect.stringContaining('"/no/such/folder"') as string },
  })
  expect(began).toBe(false)
})

test('facts come with the result, and with a failure', async () => {
  const value = { list: [1] }
  const tool = toolOf((_input, { setFact }) => {
    setFact('first', 1)
    setFact('second', value)
    setFact('first', 2)
    value.list.push(2)
  })
  expect(await runOf(tool)).toMatchObject({ kind: 'done', facts: { first: 2, second: { list: [1] } } })
  const failing = toolOf((_input, { setFact }) => {
    setFact('found', true)
    throw new Error('then it broke')
  })
  expect(await runOf(failing)).toEqual({ ...failure('then it broke'), facts: { found: true } })
})

test('a fact that cannot be recorded fails the call, even if the tool goes on', async () => {
  const deep = JSON.parse('['.repeat(65) + ']'.repeat(65)) as Json
  const cases: [name: string, value: unknown, why: RegExp][] = [
    [
      'big',
      'x'.repeat(policy.messageBytesMax),
      /^Error: fact "big" of tool "a" has 1048578 bytes of JSON; the limit is 1048576/,
    ],
    ['whole', 1n, /^Error: fact "whole" of tool "a" cannot be written as JSON/],
    ['f', () => 1, /^Error: fact "f" of tool "a" cannot be written as JSON/],
    ['deep', deep, /^Error: fact "deep" of tool "a" is nested deeper than 64 levels/],
    ['', 1, /^Error: tool "a": "" is not a fact's name/],
    ['__proto__', 1, /^Error: tool "a": "__proto__" is not a fact's name/],
    ['n'.repeat(policy.nameBytesMax + 1), 1, /is not a fact's name/],
  ]
  for (const [name, value, why] of cases) {
    for (const caught of [true, false]) {
      const tool = toolOf((_input, { setFact }) => {
        setFact('good', 1)
        try {
          setFact(name, value as Json)
        } catch (error) {
          if (!caught) throw error
        }
        return 'went on'
      })
      const outcome = await runOf(tool)
      expect(outcome).toMatchObject({ kind: 'failed', facts: {} })
      expect((outcome as { output: { value: string } }).output.value).toMatch(why)
    }
  }
})

test('all facts of a call have at most 4 MiB, where a name that is set again counts once', async () => {
  const quarter = 'x'.repeat(policy.messageBytesMax - 2)
  const full = toolOf((_input, { setFact }) => {
    for (const name of ['a', 'b', 'c', 'd', 'd', 'a']) setFact(name, quarter)
  })
  expect(await runOf(full)).toMatchObject({ kind: 'done' })
  const over = toolOf((_input, { setFact }) => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) setFact(name, name === 'e' ? 1 : quarter)
  })
  expect(await runOf(over)).toMatchObject({
    kind: 'failed',
    output: { value: expect.stringContaining('would have 4194305 bytes with "e"; the limit is 4194304') as string },
  })
})

test('progress is told at a bearable rate, and the last of it before the end', async () => {
  const seen = callParts()
  const tool = toolOf((_input, { progress }) => {
    for (let n = 1; n <= 1_000; n += 1) progress(n)
  })
  await runOf(tool, seen)
  expect(seen.progress.at(0)).toBe(1)
  expect(seen.progress.at(-1)).toBe(1_000)
  // A thousand calls last far less than 50 times the pause between two.
  expect(seen.progress.length).toBeLessThan(50)
})

test('the newest progress is told while the tool is silent', async () => {
  const seen = callParts()
  const tool = toolOf(async (_input, { progress }) => {
    progress(1)
    progress(2)
    progress(3)
    await waitUntil('the newest progress', () => seen.progress.includes(3))
  })
  expect(await runOf(tool, seen)).toMatchObject({ kind: 'done' })
  expect(seen.progress).toEqual([1, 3])
})

test('the last progress is told when time is over, too', async () => {
  const seen = callParts()
  const tool = toolOf(
    (_input, { progress }) => {
      progress(1)
      progress(2)
      return new Promise(() => {})
    },
    { timeoutMs: 1 },
  )
  expect(await runOf(tool, seen)).toMatchObject({ kind: 'unfinished' })
  expect(seen.progress).toEqual([1, 2])
})

test('who listens to progress cannot break the call', async () => {
  const parts = callParts({
    onProgress: () => {
      throw new Error('deaf')
    },
  })
  expect(
    await runOf(
      toolOf((_input, { progress }) => progress(1)),
      parts,
    ),
  ).toMatchObject({ kind: 'done' })
})

test('reconcile says whether the call was carried out', async () => {
  const asked = (reconcile: ToolDefinition['reconcile'], seen = callParts()) => {
    const tool = toolOf(() => null, { effect: 'once', timeoutMs: 20, ...(reconcile ? { reconcile } : {}) })
    const { idempotencyKey, signal, log } = seen.parts
    return executor.reconcile(tool, { q: 1 }, { idempotencyKey, signal, log })
  }
  expect(await asked(async (input, { idempotencyKey }) => ({ done: true, output: { input, idempotencyKey } }))).toEqual(
    {
      done: true,
      output: { type: 'json', value: { input: { q: 1 }, idempotencyKey: 'worker-1/1/call-1' } },
    },
  )
  expect(await asked(async () => ({ done: false }))).toEqual({ done: false })
  expect(await asked(undefined)).toEqual({ unknown: true, why: 'tool "a" has no reconcile function' })
  expect(await asked(() => Promise.reject(new Error('no answer')))).toEqual({ unknown: true, why: 'no answer' })
  expect(await asked((async () => ({})) as never)).toMatchObject({ unknown: true })
  expect(await asked((async () => null) as never)).toMatchObject({ unknown: true })
  expect(await asked(() => new Promise(() => {}))).toEqual({
    unknown: true,
    why: 'reconcile of tool "a" did not answer within 20 ms',
  })
  const stopped = callParts()
  stopped.stop.abort()
  expect(await asked(async () => ({ done: false }), stopped)).toEqual({
    unknown: true,
    why: 'reconcile of tool "a" was stopped before it answered',
  })
})
