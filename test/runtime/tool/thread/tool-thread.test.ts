/** One thread: its messages until it ends, and what remains of a call after it. */
import { getEventListeners } from 'node:events'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Tool } from '../../../../src/core/definition/tool/define-tool.ts'
import { ThreadDeath } from '../../../../src/runtime/tool/thread/thread-death.ts'
import { ToolThread } from '../../../../src/runtime/tool/thread/tool-thread.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { callParts, type SeenCall } from '../support/call-parts.ts'
import * as tools from '../support/threaded-tools.ts'

let thread: ToolThread
beforeEach(() => {
  thread = new ToolThread({ graceMs: 60_000, resourceLimits: {} })
})
afterEach(() => thread.kill())

const runOf = (tool: Tool, { parts, stop }: SeenCall = callParts(), by = thread) =>
  by.run({ tool, input: {}, parts }, null, stop.signal)
const died = { kind: 'threw', error: expect.any(ThreadDeath) as Error }

test('a call handed to a thread that has already ended is answered (TOOL-THREAD-1)', async () => {
  await thread.kill()
  expect(await runOf(tools.whereTool)).toMatchObject(died)
})

test('messages that a tool sent before it ended its thread arrive, even if a listener throws', async () => {
  const seen = callParts()
  const lines: string[] = []
  const info = (line: string) => {
    lines.push(line)
    throw new Error('nobody listens')
  }
  const parts = { ...seen.parts, log: { ...seen.parts.log, info } }
  expect(await runOf(tools.talkativeTool, { ...seen, parts })).toMatchObject(died)
  expect(lines).toEqual(Array.from({ length: 1_000 }, (_, index) => String(index + 1)))
})

test('a signal that fires after its call does not affect the thread', async () => {
  const seen = callParts()
  expect(await runOf(tools.whereTool, seen)).toMatchObject({ kind: 'returned' })
  expect(getEventListeners(seen.stop.signal, 'abort')).toEqual([])
})

test('a tool whose signal fired before the thread got it also loses its thread (TOOL-THREAD-2)', async () => {
  const seen = callParts()
  seen.stop.abort(new Error('too late'))
  const impatient = new ToolThread({ graceMs: 50, resourceLimits: {} })
  onTestFinished(() => impatient.kill())
  expect(await runOf(tools.endlessTool, seen, impatient)).toMatchObject(died)
})

test('the signal of a tool has the reason of the abort, whatever it is', async () => {
  const seen = callParts()
  const outcome = runOf(tools.obedientTool, { ...seen, parts: { ...seen.parts, onProgress: () => stop() } })
  const stop = () => seen.stop.abort('no more paper')
  expect(await outcome).toMatchObject({ kind: 'returned' })
  expect(seen.lines).toEqual([{ level: 'info', message: 'heard', fields: { reason: 'no more paper' } }])
})

test('a call that could not be handed over leaves nothing that keeps the process alive', async () => {
  await thread.kill()
  const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
  const before = ports()
  const { parts, stop } = callParts()
  const call = { tool: tools.whereTool, input: { f: () => 1 }, parts }
  const other = new ToolThread({ graceMs: 50, resourceLimits: {} })
  expect(await other.run(call, null, stop.signal)).toMatchObject({ kind: 'threw' })
  await other.kill()
  await waitUntil('all ports are closed', () => ports() <= before)
})

test('a tool in a thread uses the folder that its node resolved, even if the path leads elsewhere by now', async () => {
  const top = await realpath(await mkdtemp(join(tmpdir(), 'thread-')))
  onTestFinished(() => rm(top, { recursive: true }))
  await mkdir(join(top, 'found'))
  await mkdir(join(top, 'elsewhere'))
  await writeFile(join(top, 'found', 'file'), 'text')
  await symlink(join(top, 'elsewhere'), join(top, 'named'))
  const { parts, stop } = callParts({ folder: join(top, 'named') })
  const call = { tool: tools.contextTool, input: { file: 'file', when: new Date(0) }, parts }
  expect(await thread.run(call, join(top, 'found'), stop.signal)).toMatchObject({
    kind: 'returned',
    output: { value: { real: join(top, 'found', 'file') } },
  })
})

test('a thread that is being ended takes no other call', async () => {
  const ending = thread.kill()
  expect(thread.alive).toBe(false)
  await ending
})
