/** A source of tools that fails or is slow: what becomes of the run (core/ports/tool-source.ts). */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../../../src/core/errors.ts'
import { call, say } from '../../../../../src/models/local/scripted-model.ts'
import { Toolbox } from '../../../../../src/runtime/agent/call/agent-tools.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'seen' })
const soon = { policy: { modelBackoffMs: 1, retryBackoffMs: 1 } }

describe('a source of tools that rejects', () => {
  test('a source of tools that rejects fails the attempt of the model call, which is made again', async () => {
    vi.spyOn(Toolbox.prototype, 'open').mockRejectedValueOnce(new Error('no catalogue'))
    const model = recordedModel('test/m', [call('look'), say('done')])
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('agent')
    await troupe.startNode({ agent: defineWorker({ instructions: 'x', model, tools: [look] }) }, soon)
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'done' } })
    const types = (await troupe.history(session.rootId)).map(({ type }) => type)
    expect(types).toEqual(['user', 'attemptFailed', 'assistant', 'toolResult', 'assistant', 'completed'])
  })

  test('a source of tools that rejects fails the run when no attempt is left, and says why', async () => {
    vi.spyOn(Toolbox.prototype, 'open').mockRejectedValue(new Error('no catalogue'))
    const model = recordedModel('test/m', [say('never')])
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('agent')
    await troupe.startNode({ agent: defineWorker({ instructions: 'x', model, tools: [look], retries: 1 }) }, soon)
    const message = `the tools of worker agent (${session.rootId}) could not be loaded: no catalogue`
    const failure = { message, origin: 'model', attempt: 2 }
    expect(await session.result()).toMatchObject({ status: 'failed', failure })
    expect(model.requests).toEqual([])
  })

  test('a source of tools that rejects fails the attempt of the open calls, in a turn that takes them over', async () => {
    const open: (this: Toolbox, ...turn: Parameters<Toolbox['open']>) => ReturnType<Toolbox['open']> =
      Object.getOwnPropertyDescriptor(Toolbox.prototype, 'open')?.value
    let asked = 0
    vi.spyOn(Toolbox.prototype, 'open').mockImplementation(async function (this: Toolbox, turn) {
      if (++asked > 1) throw new TerminalError('gone')
      return open.call(this, turn)
    })
    const model = recordedModel('test/m', [call('look'), say('never')])
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('agent')
    // The turn ends after its first model call.
    const agent = defineWorker({ instructions: 'x', model, tools: [look] })
    await troupe.startNode({ agent }, { policy: { turnSliceSteps: 1 } })
    const failure = { message: expect.stringContaining('could not be loaded: gone'), origin: 'tool' }
    expect(await session.result()).toMatchObject({ status: 'failed', failure })
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toContain('toolResult')
  })
})

test('a source of tools that does not answer delays neither a cancel nor the node', async () => {
  const opened = vi.spyOn(Toolbox.prototype, 'open').mockReturnValue(new Promise(() => {}))
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('agent')
  const model = recordedModel('test/m', [say('never')])
  const agent = defineWorker({ instructions: 'x', model, tools: [look] })
  await troupe.startNode({ agent }, { policy: { lazyCommitMs: 1 } })
  await waitUntil('the source is asked', () => opened.mock.calls.length === 1)
  // Until then the input is a lazy step, which a cancel drops.
  await waitUntil('the input is recorded', async () => (await troupe.history(session.rootId)).length === 1)
  await session.cancel()
  expect(await session.result()).toMatchObject({ status: 'cancelled' })
  expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['user', 'cancelled'])
})
