/** The state machine of a run: the plain arrows, the others with their reason, and nothing else. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  busyStates,
  type RunEvent,
  RunMachine,
  runArrows,
  transition,
} from '../../../../src/core/worker/run/lifecycle.ts'
import { type RunState, runStates } from '../../../../src/core/worker/run/run-state.ts'

const events = [...new Set(runArrows.map(({ event }) => event))]
const places = runStates.flatMap((state) => events.map((event) => [state, event] as const))
const arrow = (from: RunState, to: RunState) => `${from} --> ${to}`
const arrowsOf = (list: readonly { from: RunState; to: RunState }[]) =>
  [...new Set(list.map(({ from, to }) => arrow(from, to)))].sort()

/** Arrows that need no reason. */
const designed: readonly (readonly [RunState, RunEvent, RunState])[] = [
  ['Idle', 'inputReceived', 'ProcessingUserMessage'],
  ['ProcessingUserMessage', 'requestSent', 'AwaitingLLMResponse'],
  ['AwaitingLLMResponse', 'replyReceived', 'ProcessingLLMResponse'],
  ['AwaitingLLMResponse', 'replyFailed', 'TransientFailure'],
  ['ProcessingLLMResponse', 'approvalNeeded', 'AwaitingToolApproval'],
  ['ProcessingLLMResponse', 'callsAccepted', 'ExecutingTools'],
  ['ProcessingLLMResponse', 'callsInvalid', 'HandlingToolError'],
  ['ProcessingLLMResponse', 'answered', 'Idle'],
  ['AwaitingToolApproval', 'approved', 'ExecutingTools'],
  ['AwaitingToolApproval', 'denied', 'GeneratingResponse'],
  ['ExecutingTools', 'toolsFinished', 'ProcessingToolResults'],
  ['ExecutingTools', 'toolFailed', 'TransientFailure'],
  ['ExecutingTools', 'toolRefused', 'Failed'],
  ['ProcessingToolResults', 'resultsAdded', 'GeneratingResponse'],
  ['HandlingToolError', 'errorAdded', 'GeneratingResponse'],
  ['GeneratingResponse', 'requestSent', 'AwaitingLLMResponse'],
  ['TransientFailure', 'modelRetried', 'AwaitingLLMResponse'],
  ['TransientFailure', 'toolRetried', 'ExecutingTools'],
  ['TransientFailure', 'retriesExceeded', 'Failed'],
]

/** Arrows that are there for a reason. */
const added: readonly (readonly [RunState, RunEvent, RunState])[] = [
  ['AwaitingLLMResponse', 'replyRefused', 'Failed'],
  ['AwaitingLLMResponse', 'retriesExceeded', 'Failed'],
  ['ProcessingLLMResponse', 'limitReached', 'Failed'],
  ['ProcessingUserMessage', 'limitReached', 'Failed'],
  ['GeneratingResponse', 'limitReached', 'Failed'],
  ['GeneratingResponse', 'answered', 'Idle'],
  ['AwaitingLLMResponse', 'limitReached', 'Failed'],
  ['ProcessingLLMResponse', 'blankReply', 'GeneratingResponse'],
  ['ProcessingLLMResponse', 'replyCut', 'GeneratingResponse'],
  ['AwaitingLLMResponse', 'replyTimedOut', 'GeneratingResponse'],
  ['ProcessingLLMResponse', 'steered', 'GeneratingResponse'],
  ['AwaitingToolApproval', 'steered', 'GeneratingResponse'],
  ['ExecutingTools', 'steered', 'GeneratingResponse'],
  ['ProcessingLLMResponse', 'outputRefused', 'GeneratingResponse'],
  ['ProcessingToolResults', 'answered', 'Idle'],
  ['ProcessingLLMResponse', 'answerHeld', 'GeneratingResponse'],
  ['ExecutingTools', 'approvalNeeded', 'AwaitingToolApproval'],
  ['AwaitingToolApproval', 'toolRefused', 'Failed'],
  ['ProcessingToolResults', 'circuitOpened', 'Failed'],
  ['HandlingToolError', 'circuitOpened', 'Failed'],
  ['GeneratingResponse', 'circuitOpened', 'Failed'],
  ['Failed', 'inputReceived', 'ProcessingUserMessage'],
  ...busyStates.map((state) => [state, 'cancelled', 'Idle'] as const),
  ...busyStates.map((state) => [state, 'quarantined', 'Failed'] as const),
]

describe('the table', () => {
  test.each(designed)('the table of states has the arrow of the design: %s on %s to %s', (from, event, to) => {
    expect(transition(from, event)).toBe(to)
    expect(runArrows.filter((arrow) => arrow.from === from && arrow.event === event)).toEqual([{ event, from, to }])
  })

  test('the table of states has all nineteen arrows of the design and calls none an addition [3.2, 3.1]', () => {
    expect(designed).toHaveLength(19)
    expect(arrowsOf(runArrows.filter(({ why }) => why === undefined))).toEqual(
      arrowsOf(designed.map(([from, , to]) => ({ from, to }))),
    )
  })

  test.each(added)('the table of states has the addition %s on %s to %s, and says why', (from, event, to) => {
    expect(transition(from, event)).toBe(to)
    expect(runArrows.find((arrow) => arrow.from === from && arrow.event === event)?.why).toMatch(/\w+ \w+/)
  })

  test('the table of states has no other arrow, and one next state for each state and event', () => {
    const named = [...designed, ...added].map(([from, event, to]) => `${from} ${event} ${to}`)
    expect(runArrows.map(({ from, event, to }) => `${from} ${event} ${to}`).sort()).toEqual(named.sort())
    expect(new Set(runArrows.map(({ from, event }) => `${from} ${event}`)).size).toBe(runArrows.length)
  })

  test('every state can be reached, and left again', () => {
    for (const state of runStates) {
      expect(runArrows.some(({ to }) => to === state)).toBe(true)
      expect(runArrows.some(({ from }) => from === state)).toBe(true)
    }
  })

  test('all states but two are busy, and from each of them a run can be ended', () => {
    expect(runStates.filter((state) => !busyStates.includes(state))).toEqual(['Idle', 'Failed'])
  })
})

describe('the machine', () => {
  test('the state machine begins idle, or in the given state', () => {
    expect(new RunMachine().state).toBe('Idle')
    expect(new RunMachine('ExecutingTools').state).toBe('ExecutingTools')
  })

  test.each(places)('the machine in %s on %s does what the table says, or nothing', (state, event) => {
    const told: unknown[] = []
    const machine = new RunMachine(state, (...ignored) => told.push(ignored))
    const next = transition(state, event)
    expect(machine.apply(event)).toBe(next !== null)
    expect(machine.state).toBe(next ?? state)
    expect(told).toEqual(next === null ? [[state, event]] : [])
  })

  test('every event counts once: as a change or as ignored [3.3]', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events)), (list) => {
        let ignored = 0
        const machine = new RunMachine('Idle', () => ignored++)
        const applied = list.filter((event) => machine.apply(event)).length
        expect(applied + ignored).toBe(list.length)
        expect(runStates).toContain(machine.state)
      }),
    )
  })

  test('a run with a tool, a retry and an answer goes all the way to its end', () => {
    const machine = new RunMachine()
    const way: RunEvent[] = [
      'inputReceived',
      'requestSent',
      'replyFailed',
      'modelRetried',
      'replyReceived',
      'callsAccepted',
      'toolsFinished',
      'resultsAdded',
      'requestSent',
      'replyReceived',
      'answered',
    ]
    expect(way.map((event) => machine.apply(event))).not.toContain(false)
    expect(machine.state).toBe('Idle')
  })
})
