/** What a node logs when something happens that no test may bring about is known as a fault to the tests that listen for it. */
import { expect, test, vi } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { WorkerLog } from '../../../src/core/definition/worker-log.ts'
import { say } from '../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { HistoryCache } from '../../../src/runtime/agent/history-cache.ts'
import { Journal } from '../../../src/runtime/agent/journal.ts'
import { loadHistory } from '../../../src/runtime/agent/load.ts'
import { KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { isNodeFault } from '../../support/node-fault.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { assignmentByHand, HeldStore } from '../support/held-store.ts'

/** A turn, and what its node has logged as a fault. */
function heardTurn() {
  const faults: string[] = []
  const hear: WorkerLog['info'] = (message, fields) => {
    if (isNodeFault(message, fields?.what)) faults.push(message)
  }
  const log: WorkerLog = { debug: hear, info: hear, warn: hear, error: hear }
  const store = new HeldStore()
  const host = { ...store.host(), log, workerLog: () => log }
  return { turn: new Turn(assignmentByHand({ runState: 'Idle' }), host), store, faults }
}

test('an event that does not apply to the state of a run is logged as a fault, and a message that nothing waits for is not', async () => {
  const { turn, faults } = heardTurn()
  const journal = new Journal(turn, await loadHistory(turn, new HistoryCache(0)))
  journal.noteIgnored('an answer a, for which nothing waits')
  expect(faults).toEqual([])
  journal.machine.apply('replyReceived')
  expect(faults).toHaveLength(1)
})

test('a turn that is given up is logged as a fault', () => {
  const { turn, faults } = heardTurn()
  turn.giveUp(new Error('unforeseen'))
  expect(faults).toHaveLength(1)
})

test('a turn of an agent that breaks between two steps is logged as a fault', async () => {
  const { turn, store, faults } = heardTurn()
  vi.spyOn(turn.steers, 'isWaiting', 'get').mockImplementation(() => {
    throw new Error('unforeseen')
  })
  const agent = defineWorker({ instructions: 'x', model: recordedModel('test/m', () => say('done')) })
  void new KindMaker(openModels({ env: {} })).make('agent', agent).behaviour(turn)
  await waitUntil('the run has failed', () => store.commits.length > 0)
  expect(faults).toHaveLength(1)
})
