/** Calls that were valid when they were recorded, and are no longer valid in a later turn because the kind or the time has changed. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool, type Reconciled, type Tool } from '../../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const before = z.object({ at: z.number() })
const after = z.object({ at: z.number(), more: z.number() })

const results = async (troupe: TestTroupe, workerId: string) =>
  (await troupe.history(workerId)).filter((entry) => entry.type === 'toolResult')

/** A `once` tool that hangs when it runs for the first time. */
class Act {
  runs = 0
  readonly asked: unknown[] = []
  /** The last prompt that the model got. */
  preview = ''

  tool(input: z.ZodType, reconciled?: Reconciled): Tool {
    const run = () => (++this.runs === 1 ? new Promise(() => {}) : 'done')
    const reconcile = async (given: unknown) => {
      this.asked.push({ ...(given as object) })
      Object.assign(given as object, { at: 'its own' })
      return reconciled as Reconciled
    }
    const definition = { name: 'act', description: 'Acts.', effect: 'once', approval: 'never', run } as const
    return defineTool({ ...definition, input, ...(reconciled && { reconcile }) })
  }

  /** Stops the node while the first tool runs; another node takes over with the second tools. Returns what came of the call. */
  async takenOver(first: Tool, second: readonly Tool[], meanwhile = () => {}) {
    // The model behaves like one that reads what it is told: it mends arguments that are refused, and asks again.
    const model = recordedModel('test/m', ({ messages }) => {
      this.preview = JSON.stringify(messages)
      const last = JSON.stringify(messages.at(-1))
      if (last.includes('go')) return call('act', { at: 1 }, 'a')
      return last.includes('invalid arguments') ? call('act', { at: 2, more: 1 }, 'b') : say('ok')
    })
    const agent = (tools: readonly Tool[]) => defineWorker({ instructions: 'Act.', model, tools, onUnknown: 'tell' })
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode({ agent: agent([first]) })
    const session = await troupe.create('agent', 'go')
    await waitUntil('the tool runs', () => this.runs === 1)
    await node.stop({ force: true })
    meanwhile()
    await troupe.startNode({ agent: agent(second) })
    await awaitResult(session)
    await expectInvariants(troupe.redis, troupe.namespace)
    return await results(troupe, session.rootId)
  }
}

describe('a started call', () => {
  test('a started call has an unknown outcome, and is not refused as invalid, when its schema has changed', async () => {
    const act = new Act()
    expect(await act.takenOver(act.tool(before), [act.tool(after)])).toMatchObject([{ status: 'unknown' }])
    expect(act.runs).toBe(1)
  })

  test('a started call has an unknown outcome, and is not refused as invalid, when its schema depends on the time', async () => {
    const act = new Act()
    let isFuture = true
    const tool = act.tool(before.refine(() => isFuture, 'must be in the future'))
    const came = await act.takenOver(tool, [tool], () => {
      isFuture = false
    })
    expect(came).toMatchObject([{ status: 'unknown' }])
    expect(act.runs).toBe(1)
  })

  test('a started call has an unknown outcome when the kind no longer has the tool', async () => {
    const act = new Act()
    expect(await act.takenOver(act.tool(before), [])).toMatchObject([{ status: 'unknown' }])
  })

  test('a started call has the result that reconcile reports; reconcile gets the original arguments and cannot change them', async () => {
    const act = new Act()
    const came = await act.takenOver(act.tool(before), [act.tool(after, { done: true, output: 'paid' })])
    expect(came).toMatchObject([{ status: 'ok', output: { value: 'paid' } }])
    expect(act.asked).toEqual([{ at: 1 }])
    expect(act.preview).toContain('"input":{"at":1}')
  })

  test('a started call has an unknown outcome when reconcile reports "not done" for arguments that are no longer valid', async () => {
    const act = new Act()
    const came = await act.takenOver(act.tool(before), [act.tool(after, { done: false })])
    expect(came).toMatchObject([{ status: 'unknown' }])
    expect(act.runs).toBe(1)
  })
})

test('a call that started children waits for them even if their kind may no longer be spawned', async () => {
  const model = recordedModel('test/p', [call('spawn_workers', { tasks: [{ kind: 'child', input: 'x' }] }), say('end')])
  const open = Promise.withResolvers<void>()
  const child = defineWorker({
    async receive(_, self) {
      await open.promise
      self.reply('worked')
    },
  })
  const other = defineWorker({ receive() {} })
  await using troupe = await TestTroupe.connect()
  await troupe.startNode({ child })
  const node = await troupe.startNode({ agent: defineWorker({ instructions: 'x', model, spawns: ['child'] }) })
  const session = await troupe.create('agent', 'go')
  await waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')
  await node.stop()
  await troupe.startNode({ agent: defineWorker({ instructions: 'x', model, spawns: ['other'] }), other })
  open.resolve()
  await awaitResult(session)
  expect(await results(troupe, session.rootId)).toMatchObject([
    { status: 'ok', output: { value: [{ status: 'completed', details: 'worked' }] } },
  ])
})
