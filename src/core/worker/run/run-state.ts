/**
 * Duty: the states of runs and workers, and the two that are derived from them: a fine one in seven words and a coarse one in three.
 * STATE-1 The fine and the coarse state are never stored.
 */

/** The eleven states of a run. */
export const runStates = [
  'Idle',
  'ProcessingUserMessage',
  'AwaitingLLMResponse',
  'ProcessingLLMResponse',
  'AwaitingToolApproval',
  'ExecutingTools',
  'ProcessingToolResults',
  'HandlingToolError',
  'GeneratingResponse',
  'TransientFailure',
  'Failed',
] as const
export type RunState = (typeof runStates)[number]

/** Stands behind a state in the record: the first byte of the model's reply has arrived. */
const firstByteMark = '+'

/** The state of a run as the field `runState` of the record keeps it. */
export function encodeRunState(run: RunState, firstByteSeen: boolean): string {
  return firstByteSeen && run === 'AwaitingLLMResponse' ? run + firstByteMark : run
}

export function decodeRunState(text: string): { run: RunState; firstByteSeen: boolean } {
  const firstByteSeen = text.endsWith(firstByteMark)
  return { run: (firstByteSeen ? text.slice(0, -firstByteMark.length) : text) as RunState, firstByteSeen }
}

/** The status of a worker in the store, which scripts keep in its record. */
export const workerStates = ['idle', 'queued', 'running', 'parked', 'paused', 'terminal'] as const
export type WorkerState = (typeof workerStates)[number]

export const fineStates = [
  'inactive',
  'working',
  'requesting',
  'receiving',
  'waiting',
  'usingTool',
  'inactiveFailed',
] as const
/** The activity of a worker, in seven words. */
export type FineState = (typeof fineStates)[number]

/** The activity of a worker, in three words. */
export type CoarseState = 'idle' | 'busy' | 'idleFailed'

export interface RunFacts {
  readonly run: RunState
  readonly worker: WorkerState
  /** The first byte of the model's reply has arrived. */
  readonly firstByteSeen?: boolean
}

export function fineState({ run, worker, firstByteSeen }: RunFacts): FineState {
  if (run === 'Failed' && (worker === 'idle' || worker === 'terminal')) return 'inactiveFailed'
  if (worker === 'queued' || worker === 'parked' || worker === 'paused') return 'waiting'
  switch (run) {
    case 'Idle':
      return worker === 'running' ? 'working' : 'inactive'
    case 'AwaitingLLMResponse':
      return firstByteSeen ? 'receiving' : 'requesting'
    case 'AwaitingToolApproval':
    case 'TransientFailure':
      return 'waiting'
    case 'ExecutingTools':
      return 'usingTool'
    case 'Failed':
    case 'ProcessingUserMessage':
    case 'ProcessingLLMResponse':
    case 'ProcessingToolResults':
    case 'HandlingToolError':
    case 'GeneratingResponse':
      return 'working'
  }
}

export function coarseState(facts: RunFacts): CoarseState {
  const fine = fineState(facts)
  if (fine === 'inactive') return 'idle'
  return fine === 'inactiveFailed' ? 'idleFailed' : 'busy'
}
