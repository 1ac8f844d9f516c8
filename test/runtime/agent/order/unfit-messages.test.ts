/** Messages that an agent cannot receive. The commit that reports this consumes the message, no model is asked, and the next message starts a new run. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { decodeTally, emptyTally, encodeTally } from '../../../../src/core/history/run/agent-tally.ts'
import { newId } from '../../../../src/core/ids.ts'
import type { Assignment } from '../../../../src/core/ports/ports.ts'
import type { Mail } from '../../../../src/core/worker/message/message.ts'
import { say } from '../../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../../src/models/model-source.ts'
import { KindMaker } from '../../../../src/runtime/node/kind-maker.ts'
import { Turn } from '../../../../src/runtime/turn/turn.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { assignmentByHand, HeldStore } from '../../support/held-store.ts'

/** The first commit of a turn with this assignment, and how many replies were asked for until then. */
async function firstCommit(more: Partial<Assignment>, history: readonly object[] = []) {
  const store = new HeldStore()
  const model = recordedModel('test/m', [say('done')])
  const kind = new KindMaker(openModels({ env: {} })).make('agent', defineWorker({ instructions: 'x', model }))
  const host = store.host()
  Object.assign(host.store, { readHistory: async () => history.map((entry) => JSON.stringify(entry)) })
  const turn = new Turn(assignmentByHand(more), host)
  void kind.behaviour(turn)
  await waitUntil('a commit is on its way', () => store.commits.length > 0)
  turn.abandon('fenced')
  return { request: store.commits[0]?.request, asked: model.requests.length }
}

test('a message that brought its node down several times goes to the dead letters', async () => {
  const { request, asked } = await firstCommit({ purpose: 'poison' })
  expect(request).toMatchObject({
    inputsConsumed: 1,
    dead: expect.any(String),
    failure: { code: 'poison', attempt: 1 },
  })
  expect(request?.event).toContain('message.deadLettered')
  expect(request?.end).toMatchObject({ wait: 'any' })
  expect(asked).toBe(0)
})

test('a run that brought its node down several times goes to the dead letters; messages that wait for its end do not', async () => {
  const head = { v: 1, at: 1, run: 1, epoch: 1 }
  const user = { type: 'user', ...head, id: 'm0', content: [{ type: 'text', text: 'go' }] }
  const retried = { attempt: 1, retrying: 'model:1', runState: 'TransientFailure' } as const
  const open = { open: true, version: 2, commitId: '1:n:2', stateJson: encodeTally(emptyTally), ...retried }
  const { request, asked } = await firstCommit({ purpose: 'poison', ...open }, [user])
  expect(request).toMatchObject({
    inputsConsumed: 0,
    dead: expect.any(String),
    failure: { code: 'poison', attempt: 2 },
  })
  expect(request?.failure?.message).toContain('the next step was model call 1 of run 1.')
  expect(request?.event).not.toContain('message.deadLettered')
  expect(asked).toBe(0)
})

test('a message that cannot be read fails its run before a model is asked', async () => {
  const [mail] = assignmentByHand().mail.inbox
  const user = [{ ...(mail as Mail), malformed: 'no JSON' }]
  const { request, asked } = await firstCommit({ mail: { signals: [], results: [], inbox: user } })
  expect(request).toMatchObject({ inputsConsumed: 1, failure: { code: 'input_invalid' } })
  // A follower of the events sees each run begin that ends.
  expect(request?.event).toMatch(/run\.started.*worker\.failed/)
  expect(asked).toBe(0)
})

test('a result, or a signal, for which nothing waits is consumed and counted, and the model never sees it', async () => {
  const head = { v: 1, at: 1, run: 1, epoch: 1 }
  const input = { tasks: [{ kind: 'reader', input: 1 }] }
  const content = [{ type: 'tool-call', toolCallId: 'c1', toolName: 'spawn_workers', input }]
  const usage = { inputTokens: 0, outputTokens: 0 }
  const history = [
    { type: 'user', ...head, id: 'm0', content: [{ type: 'text', text: 'go' }] },
    { type: 'assistant', ...head, id: 'm1', model: 'test/m', content, finishReason: 'tool-calls', usage },
    { type: 'delegated', ...head, toolCallId: 'c1', spawned: [{ call: 2, id: newId(0), kind: 'reader', name: 'r' }] },
  ]
  // The result of a child that was awaited before, and that reported twice.
  const told = { kind: 'result', id: newId(0), from: newId(0), name: 'r', workerKind: 'reader', call: 1 } as const
  const message = { ...told, status: 'completed', value: 'twice' } as unknown as Mail['message']
  const results = [{ lane: 'results', position: 1, message }] as const
  const stateJson = encodeTally(emptyTally)
  const waiting = { open: true, runState: 'ExecutingTools', calls: 2, pendingCalls: [2], stateJson } as const
  const recorded = { version: 3, commitId: '1:n:3', resultsTaken: 1 }
  const timer = { kind: 'timer', id: 't1', value: 'of a handler' } as unknown as Mail['message']
  // A signal that stayed would end each wait at once.
  const signals = [{ lane: 'signals', position: 0, message: timer }] as const
  const cases: readonly { readonly mail: Assignment['mail']; readonly consumed: object }[] = [
    { mail: { signals: [], inbox: [], results: [...results] }, consumed: { resultsConsumed: [1] } },
    { mail: { signals: [...signals], inbox: [], results: [] }, consumed: { signalsConsumed: 1 } },
  ]
  for (const { mail, consumed } of cases) {
    const { request, asked } = await firstCommit({ ...waiting, ...recorded, mail }, history)
    expect(request).toMatchObject({ ...consumed, entries: [], pendingCalls: [2], event: '' })
    expect(decodeTally(request?.stateJson ?? '')).toMatchObject({ ignoredEvents: 1 })
    expect(asked).toBe(0)
  }
})

test.each([
  ['that does not fit', 'no object'],
  ['that names no folder', { folder: 'here' }],
  ['whose folder does not exist', { folder: join(tmpdir(), 'troupe', 'not', 'there') }],
  ['whose folder is not assigned', { folder: '/' }],
])('a first message %s does not fix the folder of the worker', async (_, unfit) => {
  const model = recordedModel('test/m', () => say('done'))
  const agent = defineWorker({
    instructions: ({ folder }) => `You work in ${folder}.`,
    model,
    input: z.object({ folder: z.string() }),
    folder: (input) => (input as { folder: string }).folder,
  })
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('agent', unfit, { keepOpen: true, permissions: { folder: tmpdir() } })
  // The second run is in the same turn as the first one, the third in a later one.
  for (let run = 2; run <= 3; run++) {
    await session.root.send({ folder: tmpdir() })
    if (run === 2) await troupe.startNode({ agent })
    const result = await awaitResult(session, { run })
    expect(result).toMatchObject({ status: 'completed', value: { text: 'done' } })
  }
  expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed' })
  expect(model.requests.map(({ instructions }) => instructions)).toEqual(Array(2).fill(`You work in ${tmpdir()}.`))
})
