/** Tools in threads: what they see and how they end. The node survives whatever they do. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { defineTool, type Tool, type Workspace } from '../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../../src/core/errors.ts'
import { policy } from '../../../../src/core/policy.ts'
import { ToolExecutor, type ToolOutcome } from '../../../../src/runtime/tool/executor.ts'
import { ThreadPool, type ThreadPoolSettings } from '../../../../src/runtime/tool/thread/thread-pool.ts'
import { ToolThread } from '../../../../src/runtime/tool/thread/tool-thread.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { callParts, type SeenCall } from '../support/call-parts.ts'
import * as tools from '../support/threaded-tools.ts'

const pools: ThreadPool[] = []
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())))

function open(settings: ThreadPoolSettings = {}) {
  const pool = new ThreadPool({ threadsMax: 1, graceMs: 50, ...settings })
  pools.push(pool)
  const executor = new ToolExecutor(pool)
  const run = (tool: Tool, input: unknown = {}, { parts }: SeenCall = callParts()) =>
    executor.run({ tool, input, parts })
  return { pool, run }
}

function threaded(name: string, module: string, more: { timeoutMs?: number; outputBytesMax?: number } = {}): Tool {
  const thread = new URL(module, import.meta.url).href
  return defineTool({ name, description: 'For tests.', effect: 'pure', thread, run: () => 'ran in the node', ...more })
}

const textOf = (outcome: ToolOutcome) => (outcome as { output: { value: string } }).output.value
const idOf = (outcome: ToolOutcome) =>
  (outcome as unknown as { output: { value: { threadId: number } } }).output.value.threadId
const began = (seen: SeenCall) => waitUntil('the tool to begin', () => seen.progress.includes('began'))
const gateOf = () => new Int32Array(new SharedArrayBuffer(8))
const openGate = (gate: Int32Array) => {
  Atomics.store(gate, 0, 1)
  Atomics.notify(gate, 0)
}

test('no thread runs before the first call; the next call uses the same thread (THREAD-POOL-1)', async () => {
  const { pool, run } = open({ threadsMax: 4 })
  expect(pool.size).toBe(0)
  const first = await run(tools.whereTool)
  expect(first).toMatchObject({ kind: 'done', output: { type: 'json', value: { isMainThread: false } } })
  expect(pool.size).toBe(1)
  expect(idOf(await run(tools.whereTool))).toBe(idOf(first))
  expect(pool.size).toBe(1)
})

test('a folder that became a link while its call waited for a thread is not opened there', async () => {
  const { pool } = open()
  const top = await realpath(await mkdtemp(join(tmpdir(), 'threads-')))
  onTestFinished(() => rm(top, { recursive: true }))
  await mkdir(join(top, 'assigned'))
  await mkdir(join(top, 'outside'))
  const folder = join(top, 'assigned', 'own')
  await symlink(join(top, 'outside'), folder)
  const { parts, stop } = callParts({ folder, bounds: [join(top, 'assigned')] })
  // The workspace as it was when the node looked at it.
  const workspace = { root: folder } as Workspace
  const call = { tool: tools.whereTool, input: {}, parts }
  const attempt = await pool.attempt(call, stop.signal, workspace, () => {})
  const message = expect.stringContaining('leads out of the folder that its permissions name')
  expect(attempt).toMatchObject({ kind: 'threw', error: { message } })
})

test('a tool in a thread has the whole context, and its progress, logs and facts reach the node', async () => {
  const { run } = open()
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'threads-')))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'file.txt'), 'text')
  const children = [{ workerId: 'c', name: 'c', kind: 'k', status: 'completed', facts: { n: 1 }, given: [] }] as never
  const seen = callParts({ folder, facts: { part: [1] }, children, attempt: 2 })
  const outcome = await run(tools.contextTool, { file: 'file.txt', when: new Date('2020-02-02') }, seen)
  const { signal: _signal, log: _log, onProgress: _onProgress, folder: _folder, ...plain } = seen.parts
  expect(outcome).toEqual({
    kind: 'done',
    output: { type: 'json', value: { ...plain, real: join(folder, 'file.txt'), aborted: false } },
    facts: { year: 2020 },
  })
  expect(seen.progress).toEqual([{ at: 'half' }])
  expect(seen.lines).toEqual([
    { level: 'info', message: 'seen', fields: { deep: { n: 1 } } },
    { level: 'warn', message: 'with what cannot be cloned', fields: undefined },
  ])
  const out = await run(tools.contextTool, { file: '../x', when: new Date() }, seen)
  expect(out).toMatchObject({ kind: 'failed' })
  expect(textOf(out)).toContain('"../x"')
})

test('errors keep their class, code and wait when they leave a thread', async () => {
  const { run } = open()
  expect(await run(tools.throwTool, 'plain')).toMatchObject({
    kind: 'failed',
    output: { value: 'Error: out of paper' },
  })
  const transient = await run(tools.throwTool, 'transient')
  expect(transient).toMatchObject({ kind: 'transient', error: { retryAfterMs: 7 } })
  expect((transient as { error: Error }).error).toBeInstanceOf(TransientError)
  const fatal = await run(tools.throwTool, 'terminal')
  expect(fatal).toMatchObject({ kind: 'fatal', error: { message: 'no way', code: 'circuit_open' } })
  expect((fatal as { error: Error }).error).toBeInstanceOf(TerminalError)
})

test('a tool that is only in the definition of its worker is found', async () => {
  const { run } = open()
  const tool = threaded('of_worker', '../support/threaded-worker.ts')
  expect(await run(tool)).toMatchObject({ kind: 'done', output: { value: 'ran' } })
})

test('a module that cannot be loaded, or has no such tool, fails the call and says so', async () => {
  const { run } = open()
  const broken = await run(threaded('x', '../support/broken-module.ts'))
  expect(broken).toMatchObject({ kind: 'failed' })
  expect(textOf(broken)).toMatch(
    /^Error: the module of tool "x", file:.+, cannot be loaded in a thread: Error: broken on purpose$/,
  )
  expect(textOf(await run(threaded('x', './support/none.ts')))).toMatch(/cannot be loaded in a thread: .*none\.ts/)
  expect(textOf(await run(threaded('unknown', '../support/threaded-tools.ts')))).toMatch(
    /^Error: file:.+ does not export tool "unknown", and a thread needs that export: export the tool/,
  )
  expect(await run(tools.whereTool)).toMatchObject({ kind: 'done' })
})

test('a value that cannot be cloned fails the call, and the thread lives on', async () => {
  const { pool, run } = open()
  const before = idOf(await run(tools.whereTool))
  expect(textOf(await run(tools.whereTool, { f: () => 1 }))).toMatch(
    /^Error: the call of tool "where" cannot be handed to a thread: .+ could not be cloned/,
  )
  expect(textOf(await run(tools.strangeTool))).toMatch(/^Error: the tool ran, but its output cannot be written as JSON/)
  expect(idOf(await run(tools.whereTool))).toBe(before)
  expect(pool.size).toBe(1)
})

test('a tool that ends when its signal fires keeps its thread', async () => {
  const { run } = open({ graceMs: 3_000 })
  const before = idOf(await run(tools.whereTool))
  const seen = callParts()
  const outcome = run(tools.obedientTool, {}, seen)
  await began(seen)
  seen.stop.abort(new Error('the node stops'))
  expect(await outcome).toEqual({ kind: 'aborted' })
  // This call lasts longer than the grace of the first, and ends only by its own time limit.
  const next = threaded('obedient', '../support/threaded-tools.ts', { timeoutMs: 3_300 })
  expect(await run(next)).toMatchObject({ kind: 'unfinished' })
  expect(idOf(await run(tools.whereTool))).toBe(before)
  expect(seen.progress).toEqual(['began'])
  expect(seen.lines).toEqual([{ level: 'info', message: 'heard', fields: { reason: 'the node stops' } }])
})

test('a tool that never stops computing loses its thread, and the next call gets a new thread', async () => {
  const { pool, run } = open()
  const before = idOf(await run(tools.whereTool))
  const seen = callParts()
  const outcome = run(tools.endlessTool, {}, seen)
  await began(seen)
  seen.stop.abort()
  expect(await outcome).toEqual({ kind: 'aborted' })
  const after = idOf(await run(tools.whereTool))
  expect(after).not.toBe(before)
  expect(pool.size).toBe(1)
})

test('the time limit holds for a tool that never stops computing', async () => {
  const { run } = open()
  const outcome = await run(threaded('endless', '../support/threaded-tools.ts', { timeoutMs: 300 }))
  expect(outcome).toMatchObject({ kind: 'unfinished' })
  expect(await run(tools.whereTool)).toMatchObject({ kind: 'done' })
})

test('a tool that ends its thread fails, and the node lives', async () => {
  const { pool, run } = open()
  const exited = await run(tools.exitTool)
  expect(exited).toMatchObject({ kind: 'unfinished' })
  expect(textOf(exited)).toBe(
    'Error: the thread of tool "exit" ended before the tool did (exit code 3). Part of its work may have taken effect.',
  )
  expect(pool.size).toBe(0)
  expect(textOf(await run(tools.strayTool))).toContain('(thrown beside the call)')
  const brief = threaded('stray', '../support/threaded-tools.ts', { outputBytesMax: 9 })
  expect(textOf(await run(brief))).toMatch(/^Error: th\n\[Output cut: /)
  expect(await run(tools.whereTool)).toMatchObject({ kind: 'done' })
})

test('tools that use up their memory fail, and the node lives', async () => {
  const { run } = open({ threadsMax: 4, resourceLimits: { maxOldGenerationSizeMb: 48 } })
  // With V8's own young generation, four of the second at once end a busy process nearly always, an idle one now and then.
  for (const tool of [tools.greedyTool, tools.greedyForTextTool, tools.greedyForTextTool]) {
    for (const outcome of await Promise.all(Array.from({ length: 4 }, () => run(tool)))) {
      expect(outcome).toMatchObject({ kind: 'unfinished' })
      expect(textOf(outcome)).toMatch(/memory limit/)
    }
  }
  expect(await run(tools.whereTool)).toMatchObject({ kind: 'done' })
})

test('a thread has a small young generation, whatever its other limits are (THREAD-POOL-4)', async () => {
  const limitsOf = async (settings: ThreadPoolSettings) => await open(settings).run(tools.limitsTool)
  const young = { maxYoungGenerationSizeMb: policy.threadYoungMb }
  expect(await limitsOf({})).toMatchObject({ output: { value: young } })
  const resourceLimits = { maxOldGenerationSizeMb: 48 }
  expect(await limitsOf({ resourceLimits })).toMatchObject({ output: { value: { ...young, ...resourceLimits } } })
})

test('calls wait for a free thread and get one in order (THREAD-POOL-2)', async () => {
  const { pool, run } = open({ threadsMax: 2 })
  const calls = Array.from({ length: 5 }, () => {
    const [gate, seen] = [gateOf(), callParts()]
    return { gate, seen, outcome: run(tools.waitTool, { gate }, seen) }
  })
  await Promise.all(calls.slice(0, 2).map(({ seen }) => began(seen)))
  expect(pool.size).toBe(2)
  for (const [index, { gate, outcome }] of calls.entries()) {
    openGate(gate)
    expect(await outcome).toMatchObject({ kind: 'done' })
    const next = calls[index + 2]
    if (next) await began(next.seen)
    for (const later of calls.slice(index + 3)) expect(later.seen.progress).toEqual([])
  }
  expect(pool.size).toBe(2)
})

test('the time limit of a tool does not include its wait for a thread', async () => {
  const { run } = open()
  const [gate, seen] = [gateOf(), callParts()]
  const first = run(tools.waitTool, { gate }, seen)
  await began(seen)
  let ended = false
  const second = run(threaded('where', '../support/threaded-tools.ts', { timeoutMs: 2_000 })).finally(() => {
    ended = true
  })
  // Longer than the second tool has: a third, in a thread of another pool, measures it.
  const other = open()
  await other.run(threaded('obedient', '../support/threaded-tools.ts', { timeoutMs: 2_200 }))
  expect(ended).toBe(false)
  openGate(gate)
  expect(await first).toMatchObject({ kind: 'done' })
  expect(await second).toMatchObject({ kind: 'done' })
})

test('a waiting call that is aborted never begins', async () => {
  const { run } = open()
  const [gate, never, first, second] = [gateOf(), gateOf(), callParts(), callParts()]
  const outcome = run(tools.waitTool, { gate }, first)
  await began(first)
  const stopped = run(tools.waitTool, { gate: never }, second)
  second.stop.abort()
  expect(await stopped).toEqual({ kind: 'aborted' })
  openGate(gate)
  expect(await outcome).toMatchObject({ kind: 'done' })
  expect(await run(tools.whereTool)).toMatchObject({ kind: 'done' })
  expect(Atomics.load(never, 1)).toBe(0)
})

test('waiting calls get a new thread when a thread dies (THREAD-POOL-2)', async () => {
  const { run } = open()
  const outcomes = await Promise.all([run(tools.exitTool), run(tools.exitTool), run(tools.whereTool)])
  expect(outcomes.map(({ kind }) => kind)).toEqual(['unfinished', 'unfinished', 'done'])
})

test('idle threads end', async () => {
  const { pool, run } = open({ idleMs: 1 })
  await run(tools.whereTool)
  await waitUntil('the idle thread to end', () => pool.size === 0)
  expect(await run(tools.whereTool)).toMatchObject({ kind: 'done' })
})

test('a thread that runs a call again is not ended as idle, however long the call lasts', async () => {
  const { run } = open({ idleMs: 100 })
  await run(tools.whereTool)
  const [gate, seen] = [gateOf(), callParts()]
  const outcome = run(tools.waitTool, { gate }, seen)
  await began(seen)
  // Lasts longer than idle threads live: the time limit of a call in another pool measures it.
  await open().run(threaded('obedient', '../support/threaded-tools.ts', { timeoutMs: 300 }))
  openGate(gate)
  expect(await outcome).toMatchObject({ kind: 'done' })
})

test('a call that comes while an idle thread is being ended is served after that thread has ended (THREAD-POOL-2)', async () => {
  const { run } = open({ idleMs: 1 })
  const late = Promise.withResolvers<ToolOutcome>()
  vi.spyOn(ToolThread.prototype, 'kill').mockImplementationOnce(function (this: ToolThread) {
    late.resolve(run(tools.whereTool))
    return this.kill()
  })
  const before = idOf(await run(tools.whereTool))
  const after = await late.promise
  expect(after).toMatchObject({ kind: 'done' })
  expect(idOf(after)).not.toBe(before)
})

test('a thread that died while it was idle gets no further call', async () => {
  const running = vi.spyOn(ToolThread.prototype, 'run')
  const { pool, run } = open()
  expect(await run(tools.leaveTool)).toMatchObject({ kind: 'done' })
  await waitUntil('its thread to be gone', () => (running.mock.contexts[0] as ToolThread | undefined)?.alive === false)
  expect(await run(tools.whereTool)).toMatchObject({ kind: 'done' })
  expect(pool.size).toBe(1)
})

test('a call goes on if a listener of progress or a logger throws', async () => {
  const seen = callParts()
  const fail = vi.fn<() => never>(() => {
    throw new Error('nobody listens')
  })
  const parts = { ...seen.parts, onProgress: fail, log: { ...seen.parts.log, info: fail } }
  const outcome = open({ graceMs: 30_000 }).run(tools.obedientTool, {}, { ...seen, parts })
  await waitUntil('the tool to begin', () => fail.mock.calls.length === 1)
  seen.stop.abort(new Error('the node stops'))
  expect(await outcome).toEqual({ kind: 'aborted' })
  await waitUntil('the tool to have heard it', () => fail.mock.calls.length === 2)
})

test('a closed pool has no thread left, and no call waits (THREAD-POOL-3)', async () => {
  const running = vi.spyOn(ToolThread.prototype, 'run')
  const { pool, run } = open()
  const seen = callParts()
  const endless = run(tools.endlessTool, {}, seen)
  await began(seen)
  const waiting = run(tools.whereTool)
  await pool.close()
  expect(pool.size).toBe(0)
  expect(running.mock.contexts).toMatchObject([{ alive: false }])
  expect(textOf(await endless)).toContain('ended before the tool did (it was ended)')
  expect(textOf(await waiting)).toBe('Error: tool "where" was not run, because this node has closed its threads.')
  expect(await run(tools.whereTool)).toMatchObject({ kind: 'failed' })
  expect(pool.size).toBe(0)
  await pool.close()
})

test('a pool has by default as many threads as the machine can run', async () => {
  const pool = new ThreadPool()
  pools.push(pool)
  const executor = new ToolExecutor(pool)
  const count = availableParallelism() + 2
  await Promise.all(
    Array.from({ length: count }, () => executor.run({ tool: tools.whereTool, input: {}, parts: callParts().parts })),
  )
  expect(pool.size).toBe(availableParallelism())
})

test('a thread can run TypeScript sources if its process can, and an idle thread does not keep the process alive', async () => {
  const program = fileURLToPath(new URL('../../../programs/thread-tool.ts', import.meta.url))
  const ways: { args: string[]; env: Record<string, string> }[] = [
    { args: ['--conditions=troupe-source'], env: {} },
    { args: ['-C', 'troupe-source', '--max-old-space-size=500'], env: {} },
    { args: [], env: { NODE_OPTIONS: '--conditions=troupe-source' } },
  ]
  const outputs = await Promise.all(
    ways.map(({ args, env }) =>
      promisify(execFile)(process.execPath, [...args, program], {
        env: { ...process.env, NODE_OPTIONS: '', ...env },
        // A process that an idle thread keeps alive is killed after this time.
        timeout: 300_000,
      }),
    ),
  )
  for (const { stdout } of outputs) {
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'done', output: { value: { isMainThread: false } } })
  }
})

test('a tool in plain JavaScript runs in a thread without a build', async () => {
  const { run } = open()
  const folder = await mkdtemp(join(tmpdir(), 'threads-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const core = new URL('../../../../src/core/definition/tool/define-tool.ts', import.meta.url).href
  await writeFile(
    join(folder, 'tool.mjs'),
    `import { defineTool } from '${core}'
     export default defineTool({ name: 'plain', description: 'x', effect: 'pure', run: (input) => input })`,
  )
  const thread = pathToFileURL(join(folder, 'tool.mjs')).href
  const plain = defineTool({ name: 'plain', description: 'x', effect: 'pure', thread, input: z.string(), run: () => 0 })
  expect(await run(plain, 'hello')).toMatchObject({ kind: 'done', output: { value: 'hello' } })
})
