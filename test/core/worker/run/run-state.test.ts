/** States of a worker as projections of its run. */
import { describe, expect, test } from 'vitest'
import {
  type CoarseState,
  coarseState,
  decodeRunState,
  encodeRunState,
  type FineState,
  fineState,
  fineStates,
  type RunState,
  runStates,
  type WorkerState,
  workerStates,
} from '../../../../src/core/worker/run/run-state.ts'

/** The state that is shown for each run, for a worker that a node runs now. */
const running: Readonly<Record<RunState, FineState>> = {
  Idle: 'working',
  ProcessingUserMessage: 'working',
  AwaitingLLMResponse: 'requesting',
  ProcessingLLMResponse: 'working',
  AwaitingToolApproval: 'waiting',
  ExecutingTools: 'usingTool',
  ProcessingToolResults: 'working',
  HandlingToolError: 'working',
  GeneratingResponse: 'working',
  TransientFailure: 'waiting',
  Failed: 'working',
}

describe('a running worker', () => {
  test.each(runStates.map((run) => [run, running[run]] as const))('a running worker in %s is %s', (run, fine) => {
    expect(fineState({ run, worker: 'running' })).toBe(fine)
  })

  test('a running worker is receiving once the first byte was seen, and only while it awaits the reply [1.2]', () => {
    for (const run of runStates) {
      const expected = run === 'AwaitingLLMResponse' ? 'receiving' : running[run]
      expect(fineState({ run, worker: 'running', firstByteSeen: true })).toBe(expected)
    }
  })
})

describe('a worker that is not running', () => {
  test.each(['queued', 'paused'] as const)(
    'a worker that is not running waits when it is %s, whatever its run does',
    (worker) => {
      for (const run of runStates.filter((state) => state !== 'Failed'))
        expect(fineState({ run, worker })).toBe('waiting')
    },
  )

  test('a worker that is not running waits when it is parked on children, an approval, a timer or a retry', () => {
    for (const run of ['ExecutingTools', 'AwaitingToolApproval', 'TransientFailure', 'ProcessingUserMessage'] as const)
      expect(fineState({ run, worker: 'parked' })).toBe('waiting')
  })

  test.each(['idle', 'terminal'] as const)('a worker that is not running is inactive when it is %s', (worker) => {
    expect(fineState({ run: 'Idle', worker })).toBe('inactive')
    expect(coarseState({ run: 'Idle', worker })).toBe('idle')
  })

  test.each(['idle', 'terminal'] as const)(
    'a worker that is not running keeps showing that its last run failed when it is %s',
    (worker) => {
      expect(fineState({ run: 'Failed', worker })).toBe('inactiveFailed')
      expect(coarseState({ run: 'Failed', worker })).toBe('idleFailed')
    },
  )

  test('a worker that is not running is busy again as soon as a new message has queued it after a failure, also at a gate or in a pause [1.3]', () => {
    for (const worker of ['queued', 'running', 'parked', 'paused'] as const)
      expect(coarseState({ run: 'Failed', worker })).toBe('busy')
  })
})

describe('every pair of states', () => {
  const pairs = runStates.flatMap((run) => workerStates.map((worker) => ({ run, worker })))

  test('every pair of states has one of the seven fine states and one of the three coarse ones [1.2, 1.3]', () => {
    const coarse = new Set<CoarseState>(['idle', 'busy', 'idleFailed'])
    for (const pair of pairs) {
      expect(fineStates).toContain(fineState(pair))
      expect(coarse).toContain(coarseState(pair))
    }
  })

  test('every pair of states is busy exactly when it is neither inactive nor failed', () => {
    const words: Readonly<Record<FineState, CoarseState>> = {
      inactive: 'idle',
      inactiveFailed: 'idleFailed',
      working: 'busy',
      requesting: 'busy',
      receiving: 'busy',
      waiting: 'busy',
      usingTool: 'busy',
    }
    for (const pair of pairs) expect(coarseState(pair)).toBe(words[fineState(pair)])
  })

  test('every pair of states says that nothing goes on if nothing can go on', () => {
    const atRest: readonly WorkerState[] = ['idle', 'terminal']
    const resting = pairs.filter(({ run, worker }) => run === 'Idle' && atRest.includes(worker))
    expect(resting.map((pair) => fineState(pair))).toEqual(['inactive', 'inactive'])
  })

  test('all seven fine states occur', () => {
    const seen = new Set(pairs.flatMap((pair) => [fineState(pair), fineState({ ...pair, firstByteSeen: true })]))
    expect([...seen].sort()).toEqual([...fineStates].sort())
  })
})

test('a run has the eleven states of the design', () => {
  expect(new Set(runStates).size).toBe(11)
})

describe("a run's state in the record", () => {
  test('the state of a run in its record is read back as it was written, with the first byte only while the reply is awaited', () => {
    for (const run of runStates) {
      expect(decodeRunState(encodeRunState(run, false))).toEqual({ run, firstByteSeen: false })
      const firstByteSeen = run === 'AwaitingLLMResponse'
      expect(decodeRunState(encodeRunState(run, true))).toEqual({ run, firstByteSeen })
    }
    expect(encodeRunState('AwaitingLLMResponse', true)).toBe('AwaitingLLMResponse+')
  })
})
