/** Steps of recipes whose outcome nobody knows, and runs that go on behind the steps that have ended. */
import { describe, expect, test } from 'vitest'
import type { AgentWorker } from '../../../../../src/core/definition/agent/define-agent.ts'
import type { Processor } from '../../../../../src/core/definition/agent/processors.ts'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool, type ToolDefinition } from '../../../../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../../../../src/models/local/scripted-model.ts'
import { expectSound, resultOf, scripted, told } from '../../../../support/person/approvals.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { awaitResult } from '../../../../support/time/await-session.ts'

/** A recipe of two `once` steps; the second one hangs when it first runs. */
async function paying(more: Partial<ToolDefinition> = {}, kind: Partial<AgentWorker> = {}) {
  const ran: string[] = []
  const once = { description: 'x', effect: 'once', approval: 'never' } as const
  const note = defineTool({ ...once, name: 'note', run: () => `noted ${ran.push('note')}` })
  const pay = defineTool({
    ...once,
    name: 'pay',
    timeoutMs: 30,
    run: () => (ran.push('pay') === 2 ? new Promise(() => {}) : 'paid'),
    ...more,
  })
  const both = defineTool({
    name: 'both',
    description: 'x',
    recipe: () => ({ serial: [{ tool: note }, { tool: pay }] }),
  })
  const model = scripted(call('both', {}, 'r'), say('done'))
  const workers = { clerk: defineWorker({ instructions: 'x', model, tools: [note, pay, both], ...kind }) }
  const troupe = await TestTroupe.start({ workers })
  const session = await troupe.create('clerk')
  return { troupe, session, ran, model, [Symbol.asyncDispose]: () => troupe[Symbol.asyncDispose]() }
}

describe('a step of a recipe that was started, and of which nobody knows more', () => {
  test('a step of unknown outcome fails the run; if a person says that it took no effect, it runs again, and the step before it does not', async () => {
    await using made = await paying()
    const { session, troupe, ran } = made
    expect(await resultOf(session)).toMatchObject({
      status: 'failed',
      failure: { code: 'tool_outcome_unknown', message: expect.stringContaining('call r/serial_2_pay of tool "pay"') },
    })
    const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(results).toMatchObject([{ toolCallId: 'r', status: 'unknown' }])
    await expectSound(troupe)
    await expect(session.retry()).rejects.toThrow(/--unknown done/)
    await session.retry({ unknown: 'again' })
    expect(await awaitResult(session)).toMatchObject({ value: { text: 'done' } })
    expect(ran).toEqual(['note', 'pay', 'pay'])
    await expectSound(troupe)
  })

  test('a step of unknown outcome is an error in the result if the kind says that the model decides', async () => {
    await using made = await paying({}, { onUnknown: 'tell' })
    expect(await resultOf(made.session)).toMatchObject({ status: 'completed' })
    expect(told(made.model)[0]).toMatch(
      /Step 1: note\n\nnoted 1[\s\S]*- \*\*pay\*\*: The outcome of this call of 'pay' is unknown/,
    )
  })

  test.each([
    ['took effect', { done: true, output: 'paid before' } as const, ['note', 'pay'], 'paid before'],
    ['took none', { done: false } as const, ['note', 'pay'], "'pay' did not finish within 30 ms"],
  ])('a step of unknown outcome has the outcome that its tool finds: it %s', async (_what, answer, runs, text) => {
    await using made = await paying({
      async reconcile(_input, { setFact }) {
        setFact('receipt', 'r1')
        return answer
      },
    })
    const value = { text: 'done', ...(answer.done && { facts: { receipt: 'r1' } }) }
    expect(await resultOf(made.session)).toEqual({ status: 'completed', run: 1, value })
    expect(made.ran).toEqual(runs)
    expect(told(made.model)[0]).toContain(text)
  })
})

test('a run whose input a processor refused goes on if somebody retries it and the processor lets it pass', async () => {
  let isOpen = false
  const first: Processor = (input) => ({ do: 'transform', input: `${input as string}!` })
  const gate: Processor = () => (isOpen ? undefined : { do: 'abort', reason: 'closed' })
  const model = scripted(say('done'))
  const clerk = defineWorker({ instructions: 'x', model, hooks: { prompt: [first, gate] } })
  await using troupe = await TestTroupe.start({ workers: { clerk } })
  const session = await troupe.create('clerk', 'go')
  expect(await resultOf(session)).toMatchObject({ status: 'failed', failure: { code: 'input_refused' } })
  isOpen = true
  expect(await session.retry()).toEqual({ run: 1, step: 'model call 1' })
  expect(await awaitResult(session)).toMatchObject({ value: { text: 'done' } })
  expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'go!' }] }])
  await expectSound(troupe)
})
