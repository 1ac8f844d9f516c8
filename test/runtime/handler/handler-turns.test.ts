/** Turns of handlers, made by hand: what their commits say when one run ends within them and the next begins. */

import { describe, expect, test } from 'vitest'
import { defineWorker, type HandlerDefinition, type Self } from '../../../src/core/definition/define-worker.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import { newId } from '../../../src/core/ids.ts'
import type { Assignment, CommitRequest } from '../../../src/core/ports/ports.ts'
import type { Mail } from '../../../src/core/worker/message/message.ts'
import { handlerKind } from '../../../src/runtime/node/kind-maker.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { accepted, assignmentByHand, HeldStore } from '../support/held-store.ts'

const input = (position: number): Mail => ({
  lane: 'inbox',
  position,
  message: { kind: 'input', id: `inbox-${position}`, from: null, value: position },
})
const timer = (position: number): Mail => ({
  lane: 'signals',
  position,
  message: { kind: 'timer', id: `signals-${position}`, from: null, value: position },
})
const result = (call: number): Mail => ({
  lane: 'results',
  position: 0,
  message: {
    kind: 'result',
    id: 'results-0',
    from: newId(0),
    name: 'child',
    workerKind: 'child',
    call,
    status: 'completed',
    value: null,
    failure: null,
  },
})

/** The commits of the turn, if the store accepts all of them. */
async function commitsOf(definition: HandlerDefinition, assignment: Partial<Assignment>): Promise<CommitRequest[]> {
  const store = new HeldStore()
  const turn = new Turn(assignmentByHand({ isJob: false, ...assignment }), store.host())
  void handlerKind('a', definition).behaviour(turn)
  for (let place = 0; !turn.over; place++) {
    await waitUntil('it commits', () => turn.over || store.commits.length > place)
    store.commits[place]?.answer(accepted(place + 1))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return store.commits.map(({ request }) => request)
}

describe('a turn in which a run ends and the next begins', () => {
  test('the next run gets nothing that waited for the run before it in the same turn', async () => {
    const seen: string[] = []
    const definition = defineWorker({
      receive(message, self) {
        seen.push(message.id)
        if (message.kind === 'timer') self.reply(null)
        else self.after(1_000, null)
      },
    })
    const mail = { signals: [timer(0), timer(1)], results: [], inbox: [input(0)] }
    await commitsOf(definition, { open: true, signalsOpen: 2, mail })
    expect(seen).toEqual(['signals-0', 'inbox-0'])
  })

  test('the parent of the first run alone is told when a run ends and the next begins in one turn', async () => {
    const definition = defineWorker({ receive: (message, self) => self.reply(message.value) })
    const mail = { signals: [], results: [], inbox: [input(0), input(1)] }
    const commits = await commitsOf(definition, { call: 1, parentId: newId(0), mail })
    expect(commits.flatMap(({ outcome, result }) => (outcome ? [typeof result] : []))).toEqual(['string', 'undefined'])
  })
})

test.each<[string, (self: Self) => unknown]>([
  ['a child', (self) => self.spawn('a', null)],
  ['a message', (self) => self.send(self.id, null)],
  ['a timer', (self) => self.after(1_000, null)],
  ['an ask', (self) => self.ask('may I?')],
])('a step that gives other workers %s does not wait for the next message of its turn', async (_, ask) => {
  const definition = defineWorker({
    receive(message, self) {
      if (message.value === 0) ask(self)
      else self.reply(1)
    },
  })
  const mail = { signals: [timer(0), timer(1)], results: [], inbox: [] }
  const commits = await commitsOf(definition, { open: true, signalsOpen: 2, mail })
  expect(commits.map(({ outcome }) => outcome)).toEqual([undefined, 'completed'])
})

test('a quarantined run and its dead letter say how often it was started, without this claim', async () => {
  const definition = defineWorker({ receive: (_, self) => self.reply(null) })
  const [commit] = await commitsOf(definition, { purpose: 'poison', starts: 6 })
  expect(commit?.failure).toMatchObject({ code: 'poison', message: expect.stringContaining('was started 5 times') })
  expect(JSON.parse(commit?.dead ?? '{}')).toMatchObject({ starts: 5 })
})

test('a run that fails at the last awaited result awaits none', async () => {
  const definition = defineWorker({
    receive() {
      throw new TerminalError('no')
    },
  })
  const mail = { signals: [], results: [result(1)], inbox: [] }
  const [commit] = await commitsOf(definition, { open: true, calls: 2, pendingCalls: [1], mail })
  expect(commit).toMatchObject({ outcome: 'failed', pendingCount: 0 })
  const [early] = await commitsOf(definition, { open: true, calls: 2, pendingCalls: [1, 2], mail })
  expect(early).toMatchObject({ outcome: 'failed', pendingCount: 1 })
})
