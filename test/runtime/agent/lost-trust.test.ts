/**
 * A node that can no longer be sure of a lease begins nothing in its turn (T1 of think.ts, L1 of local-calls.ts): another node may have it.
 * Nobody renews here, and nobody but the turn looks at the time.
 */
import { expect, test } from 'vitest'
import { defineTool, type Effect } from '../../../src/core/define-tool.ts'
import { defineWorker } from '../../../src/core/define-worker.ts'
import type { CommitRequest } from '../../../src/core/ports.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { call, say } from '../../../src/models/scripted-model.ts'
import { KindMaker } from '../../../src/runtime/kind-maker.ts'
import { Turn } from '../../../src/runtime/turn.ts'
import { recordedModel } from '../../support/recorded-model.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { grantByHand, HeldStore, unspent } from '../support/held-store.ts'

const holds = (type: string) => (request: CommitRequest) => request.entries.some((entry) => entry.includes(`"${type}"`))

/** What was begun by a turn whose lease is not certain any more when it hears that this commit was accepted. */
async function begunUntil(effect: Effect, isLast: ((request: CommitRequest) => boolean) | null) {
  const store = new HeldStore()
  const begun: string[] = []
  const tool = defineTool({ name: 'act', description: 'Acts.', effect, run: () => void begun.push('tool') })
  const model = recordedModel('test/m', (_request, number) => {
    begun.push('model')
    return number === 1 ? call('act') : say('done')
  })
  const agent = defineWorker({ instructions: 'x', model, tools: [tool] })
  const kind = new KindMaker(openModels({ env: {} })).make('agent', agent)
  const turn = new Turn(grantByHand(), store.host())
  const loseTrust = () => {
    turn.trustedUntil = performance.now() - 1
  }
  if (isLast === null) loseTrust()
  void kind.behaviour(turn)
  for (let number = 0; !turn.over; number++) {
    await waitUntil('a commit is on its way, or the turn is over', () => turn.over ?? store.commits.length > number)
    const commit = store.commits[number]
    if (commit && isLast?.(commit.request)) loseTrust()
    commit?.answer({ kind: 'ok', version: number + 1, bells: [], claimed: { kind: 'none' }, spending: unspent })
  }
  return { begun, over: turn.over }
}

test.each([
  ['no model is asked', 'pure', null, []],
  ['no idempotent tool runs', 'idempotent', holds('assistant'), ['model']],
  ['no once tool runs', 'once', holds('toolStarted'), ['model']],
  ['no model is asked again', 'idempotent', holds('toolResult'), ['model', 'tool']],
  ['all of it is done while the lease is certain', 'once', () => false, ['model', 'tool', 'model']],
] as const)('%s', async (_, effect, isLast, begun) => {
  const over = begun.length === 3 ? 'ended' : 'unreachable'
  expect(await begunUntil(effect, isLast)).toEqual({ begun, over })
})
