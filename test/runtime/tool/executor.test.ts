/** How calls of tools end, and which of their effects others see. */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ToolContext, ToolDefinition } from '../../../src/core/definition/tool/define-tool.ts'
import { InputError, LeaseLostError, TerminalError, TransientError } from '../../../src/core/errors.ts'
import { policy } from '../../../src/core/policy.ts'
import { rememberSecret } from '../../../src/core/secret/known-secrets.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { callParts } from './support/call-parts.ts'
import { executor, failure, runOf, toolOf } from './support/run-tool.ts'

test('a tool may return its output at once or later', async () => {
  expect(await runOf(toolOf(() => 'now'))).toEqual({ kind: 'done', output: { type: 'text', value: 'now' }, facts: {} })
  expect(await runOf(toolOf(async () => ({ a: 1 })))).toMatchObject({ output: { type: 'json', value: { a: 1 } } })
  expect(await runOf(toolOf(() => 'x'.repeat(9), { outputBytesMax: 5 }))).toMatchObject({
    output: { value: expect.stringMatching(/^xxxxx\n\[Output cut: /) as string },
  })
})

test('errors of a tool and outputs of its reconcile have the same size limit as its output', async () => {
  const cut = expect.stringMatching(/\n\[Output cut: it has \d+ bytes; only the first 9 are shown\.\]$/) as string
  const long = 'x'.repeat(20)
  const thrown = toolOf(() => Promise.reject(new Error(long)), { outputBytesMax: 9 })
  expect(await runOf(thrown)).toMatchObject({ kind: 'failed', output: { value: cut } })
  const reconcile = async () => ({ done: true, output: long }) as const
  const once = toolOf(() => null, { effect: 'once', reconcile, outputBytesMax: 9 })
  expect(await executor.reconcile(once, {}, callParts().parts)).toMatchObject({ done: true, output: { value: cut } })
})

test('a tool sees its input and the whole context [3.15]', async () => {
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

test('a tool may wrap its context or pass on a part of it (CALL-CONTEXT-3, CALL-CONTEXT-4)', async () => {
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

test('a value of any type that a tool throws becomes an error for the model (EXECUTOR-1, EXECUTOR-3) [2.8]', async () => {
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

test('an output that is not JSON is a failure', async () => {
  expect(await runOf(toolOf(() => 1n))).toMatchObject({ kind: 'failed', output: { type: 'error-text' } })
})

test('a TransientError asks for another attempt, a TerminalError ends the run (EXECUTOR-3)', async () => {
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

test('a tool that ignores its signal does not hold up its call when its time is over (EXECUTOR-1) [3.11]', async () => {
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
      value: "Error: 'a' did not finish within 20 ms and was stopped. Part of its work may have taken effect.",
    },
  })
  expect(signal?.aborted).toBe(true)
  expect(signal?.reason).toMatchObject({ message: 'tool "a" did not finish within 20 ms.' })
  late?.('too late')
})

test('a tool without a time limit has the default limit, and so has its reconcile', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const never = () => new Promise<never>(() => {})
  const tool = toolOf(never, { effect: 'once', reconcile: never })
  const { idempotencyKey, signal, log } = callParts().parts
  const ends: unknown[] = []
  void runOf(tool).then((end) => ends.push(end))
  void executor.reconcile(tool, {}, { idempotencyKey, signal, log }).then((end) => ends.push(end))
  await vi.advanceTimersByTimeAsync(policy.toolMs - 1)
  expect(ends).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(ends).toMatchObject([{ kind: 'unfinished' }, { unknown: true }])
})

test('the signal of a finished tool does not fire later', async () => {
  const signals: AbortSignal[] = []
  const quick = toolOf((_input, { signal }) => void signals.push(signal), { timeoutMs: 10 })
  expect(await runOf(quick)).toMatchObject({ kind: 'done' })
  const slow = toolOf((_input, { signal }) => new Promise(() => signals.push(signal)), { timeoutMs: 20 })
  expect(await runOf(slow)).toMatchObject({ kind: 'unfinished' })
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
})

test('everything that a tool does after the end of its call is dropped (EXECUTOR-2)', async () => {
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
      message:
        'a fact was set after its tool call had ended and is not recorded: await all work before the tool returns',
      fields: { tool: 'a', toolCallId: 'call-1', fact: 'late' },
    },
  ])
})

test('a call is aborted when the signal fires, even if the tool then returns', async () => {
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

test('a tool does not begin after the signal has fired, even if that happens while its folder is opened', async () => {
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

test('a call leaves no listener on the signal of the run', async () => {
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

test('progress is published at a limited rate, and the last value before the end', async () => {
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

test('the newest progress is published even if the tool reports nothing more', async () => {
  const seen = callParts()
  const tool = toolOf(async (_input, { progress }) => {
    // However busy the machine is, no pause is over between two of them.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    for (const value of [1, 2, 3]) progress(value)
    clock.mockRestore()
    await waitUntil('the newest progress', () => seen.progress.includes(3))
  })
  expect(await runOf(tool, seen)).toMatchObject({ kind: 'done' })
  expect(seen.progress).toEqual([1, 3])
})

test('the last progress is published also when the time is over', async () => {
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

test('a listener of progress that throws does not break the call', async () => {
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
      facts: {},
    },
  )
  expect(await asked(async () => ({ done: false }))).toEqual({ done: false })
  const withFact = (value: unknown): ToolDefinition['reconcile'] => {
    return async (_input, { setFact }) => {
      setFact('total', value as never)
      return { done: true, output: null }
    }
  }
  expect(await asked(withFact(9))).toMatchObject({ done: true, facts: { total: 9 } })
  expect(await asked(withFact(9n))).toMatchObject({ unknown: true, why: expect.stringContaining('fact "total"') })
  expect(await asked(undefined)).toEqual({ unknown: true, why: 'tool "a" has no reconcile function' })
  expect(await asked(() => Promise.reject(new Error('no answer')))).toEqual({ unknown: true, why: 'no answer' })
  expect(await asked((async () => ({})) as never)).toMatchObject({ unknown: true })
  expect(await asked((async () => null) as never)).toMatchObject({ unknown: true })
  expect(await asked((async () => ({ done: 'perhaps' })) as never)).toMatchObject({ unknown: true })
  let heard: AbortSignal | undefined
  const silent: ToolDefinition['reconcile'] = (_input, { signal }) => {
    heard = signal
    return new Promise(() => {})
  }
  expect(await asked(silent)).toEqual({
    unknown: true,
    why: 'reconcile of tool "a" did not answer within 20 ms',
  })
  expect(heard?.reason).toMatchObject({ message: 'reconcile of tool "a" did not finish within 20 ms.' })
  const stopped = callParts()
  stopped.stop.abort()
  expect(await asked(async () => ({ done: false }), stopped)).toEqual({
    unknown: true,
    why: 'reconcile of tool "a" was stopped before it answered',
  })
})

test('nothing that a tool returns, throws or sets holds a secret that its node knows (EXECUTOR-4)', async () => {
  const secret = 'the-secret-of-this-node'
  rememberSecret(secret)
  const told = `x ${secret} `
  const keeping = callParts({ keeps: { over: 100, preview: 100 } })
  const once = toolOf(() => null, { effect: 'once', reconcile: async () => ({ done: true, output: told }) })
  const setting = toolOf((_, context) => {
    context.setFact('found', told)
    return told
  })
  const failing = toolOf((_, context) => {
    context.setFact('found', told)
    throw new Error(told)
  })
  const long = toolOf(() => told.repeat(100))
  const ends = [
    await runOf(setting),
    await runOf(long, keeping),
    { ...(await runOf(failing)), thrown: null },
    await executor.reconcile(once, {}, callParts().parts),
  ]
  for (const end of ends) {
    expect(JSON.stringify(end)).toContain('[redacted]')
    expect(JSON.stringify(end)).not.toContain(secret)
  }
  expect(ends).toMatchObject([
    { facts: { found: 'x [redacted] ' } },
    { whole: {} },
    { kind: 'failed', facts: { found: 'x [redacted] ' } },
    { done: true },
  ])
})
