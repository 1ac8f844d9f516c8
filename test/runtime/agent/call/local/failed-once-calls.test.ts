/** Calls of once tools that failed for a while, beside calls that still run: that they took no effect is recorded at once. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../../../src/core/errors.ts'
import { call, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { expectSound } from '../../../../support/person/approvals.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'
import { messageOf } from '../../support/steered-agent.ts'

/** A once call fails for a while, and the call beside it runs on. `first`: the tool that the model calls for it. */
async function failedBeside(first: 'charge' | 'recipe') {
  const begun = Promise.withResolvers<void>()
  let charges = 0
  let looks = 0
  const charge = defineTool({
    name: 'charge',
    description: 'Charges.',
    effect: 'once',
    approval: 'never',
    run() {
      if (++charges === 1) throw new TransientError('busy', { retryAfterMs: 1 })
      return 'charged'
    },
  })
  const recipe = defineTool({
    name: 'recipe',
    description: 'Charges.',
    recipe: () => ({ serial: [{ tool: 'charge' }] }),
  })
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effect: 'pure',
    run() {
      begun.resolve()
      return ++looks === 1 ? new Promise<never>(() => {}) : 'seen'
    },
  })
  const model = recordedModel('test/m', [together(call(first, {}, 'c'), call('look', {}, 'l')), say('Done.')])
  const agent = defineWorker({ instructions: 'Work.', model, tools: [charge, recipe, look] })
  const troupe = await TestTroupe.start({ workers: { agent }, policy: { turnSliceMs: 0 } })
  const session = await troupe.create('agent', 'go')
  await begun.promise
  await waitUntil('the failed attempt is recorded', async () =>
    (await troupe.history(session.rootId)).some(({ type }) => type === 'attemptFailed'),
  )
  const results = async () => (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
  return { troupe, session, agent, results, charges: () => charges }
}

test.each(['charge', 'recipe'] as const)(
  'a once call that failed beside one that runs (%s) is made again when its node is stopped at once',
  async (first) => {
    const { troupe, session, agent, results, charges } = await failedBeside(first)
    await using _ = troupe
    await troupe.nodes[0]?.stop({ force: true })
    await troupe.startNode({ agent })
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(await results()).toMatchObject([{ status: 'ok' }, { status: 'ok' }])
    expect(charges()).toBe(2)
    await expectSound(troupe)
  },
)

test.each(['charge', 'recipe'] as const)(
  'the outcome of a once call that failed beside one that runs (%s) is known if a message interrupts both',
  async (first) => {
    const { troupe, session, results, charges } = await failedBeside(first)
    await using _ = troupe
    await messageOf(session, 'stop', 'interrupt')
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(await results()).toMatchObject([
      { toolCallId: 'c', status: 'cancelled' },
      { toolCallId: 'l', status: 'cancelled' },
    ])
    expect(charges()).toBe(1)
    await expectSound(troupe)
  },
)
