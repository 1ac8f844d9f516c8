/**
 * A node that no longer trusts a lease begins nothing in its turn (THINK-1 of think.ts, LOCAL-1 of local-calls.ts), because another node may have the worker.
 * Nothing renews leases in these tests, and only the turn reads the clock.
 */

import { expect, test, vi } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool, type Effect } from '../../../src/core/definition/tool/define-tool.ts'
import type { CommitRequest } from '../../../src/core/ports/ports.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { accepted, assignmentByHand, HeldStore } from '../support/held-store.ts'

const noUsage = { inputTokens: 0, outputTokens: 0 }

const holds = (type: string) => (request: CommitRequest) => request.entries.some((entry) => entry.includes(`"${type}"`))

/** Lets this turn distrust its lease from now on. */
const loseTrustIn = (turn: Turn) => void vi.spyOn(turn.lease, 'isTrusted').mockReturnValue(false)

/** The calls that a turn began whose lease was no longer trusted when the answer to this commit came. */
async function begunUntil(effect: Effect, isLast: ((request: CommitRequest) => boolean) | null) {
  const store = new HeldStore()
  const begun: string[] = []
  const tool = defineTool({
    name: 'act',
    description: 'Acts.',
    effect,
    approval: 'never',
    run: () => void begun.push('tool'),
  })
  const model = recordedModel('test/m', (_request, number) => {
    begun.push('model')
    return number === 1 ? call('act') : say('done')
  })
  const agent = defineWorker({ instructions: 'x', model, tools: [tool] })
  const kind = new KindMaker(openModels({ env: {} })).make('agent', agent)
  const turn = new Turn(assignmentByHand(), store.host())
  const loseTrust = () => loseTrustIn(turn)
  if (isLast === null) loseTrust()
  void kind.behaviour(turn)
  for (let number = 0; !turn.over; number++) {
    await waitUntil('a commit is on its way, or the turn is over', () => turn.over ?? store.commits.length > number)
    const commit = store.commits[number]
    if (commit && isLast?.(commit.request)) loseTrust()
    commit?.answer(accepted(number + 1))
  }
  return { begun, over: turn.over }
}

test.each([
  ['no model is asked', 'pure', null, []],
  ['no idempotent tool runs', 'idempotent', holds('assistant'), ['model']],
  ['no once tool runs', 'once', holds('toolStarted'), ['model']],
  ['no model is asked again', 'idempotent', holds('toolResult'), ['model', 'tool']],
  ['all of it is done while the lease is certain', 'once', () => false, ['model', 'tool', 'model']],
] as const)('%s (PERMIT-1)', async (_, effect, isLast, begun) => {
  const over = begun.length === 3 ? 'ended' : 'unreachable'
  expect(await begunUntil(effect, isLast)).toEqual({ begun, over })
})

test.each([
  [1, ['model', 'tool']],
  [2, ['model']],
])(
  'a turn that is start %i of a run begins these calls before its first reply is recorded: %j (TURN-5)',
  async (starts, begun) => {
    const store = new HeldStore()
    const seen: string[] = []
    const act = defineTool({ name: 'act', description: 'Acts.', effect: 'pure', run: () => void seen.push('tool') })
    const model = recordedModel('test/m', () => {
      seen.push('model')
      return call('act')
    })
    const kind = new KindMaker(openModels({ env: {} })).make(
      'agent',
      defineWorker({ instructions: 'x', model, tools: [act] }),
    )
    const turn = new Turn(assignmentByHand({ starts }), store.host())
    void kind.behaviour(turn)
    for (let number = 0; !turn.over; number++) {
      const commit = await waitUntil('a commit is on its way', () => store.commits[number])
      if (holds('assistant')(commit.request)) turn.abandon('fenced')
      else commit.answer(accepted(number + 1))
    }
    expect(seen).toEqual(begun)
  },
)

test('no model is asked if the lease is no longer trusted after its instructions were computed', async () => {
  const store = new HeldStore()
  const model = recordedModel('test/m', [say('done')])
  const instructions = () => {
    loseTrustIn(turn)
    return 'x'
  }
  const turn = new Turn(assignmentByHand(), store.host())
  const agent = defineWorker({ instructions, model })
  await new KindMaker(openModels({ env: {} })).make('agent', agent).behaviour(turn)
  expect({ over: turn.over, requests: model.requests }).toEqual({ over: 'unreachable', requests: [] })
})

test.each([false, true])(
  'a turn without trust in its lease neither records nor reconciles an open `once` call: started %s',
  async (isStarted) => {
    const store = new HeldStore()
    const asked: string[] = []
    const act = defineTool({
      name: 'act',
      description: 'Acts.',
      effect: 'once',
      approval: 'never',
      run: () => void asked.push('run'),
      reconcile: async () => {
        asked.push('reconcile')
        return { done: false }
      },
    })
    const model = recordedModel('test/m', [say('done')])
    const agent = defineWorker({ instructions: 'x', model, tools: [act] })
    const kind = new KindMaker(openModels({ env: {} })).make('agent', agent)
    const head = { v: 1, at: 1, run: 1, epoch: 1 }
    const reply = { ...call('act', {}, 'c1'), model: 'test/m', finishReason: 'tool-calls', usage: noUsage }
    const history = [
      { type: 'user', ...head, id: 'm0', content: [{ type: 'text', text: 'go' }] },
      { type: 'assistant', ...head, id: 'm1', ...reply },
      ...(isStarted ? [{ type: 'toolStarted', ...head, toolCallId: 'c1', toolName: 'act' }] : []),
    ].map((entry) => JSON.stringify(entry))
    const host = store.host()
    Object.assign(host.store, { readHistory: async () => history })
    const turn = new Turn(
      assignmentByHand({ open: true, runState: 'ExecutingTools', version: 2, commitId: '0:n:2', stateJson: 'a 1' }),
      host,
    )
    loseTrustIn(turn)
    await kind.behaviour(turn)
    expect({ over: turn.over, asked, commits: store.commits }).toEqual({ over: 'unreachable', asked: [], commits: [] })
  },
)
