/**
 * Duty: the state machine of an agent's run, as one table: from a state and an event follows the next state.
 * LIFECYCLE-1 An event that does not apply changes nothing, because events may come twice and late. It is reported, never thrown.
 * LIFECYCLE-2 The table is complete: no other change of state is possible. docs/reference/lifecycles.md is made from it.
 */
import { type RunState, runStates } from './run-state.ts'

export interface Arrow {
  readonly event: string
  readonly from: RunState
  readonly to: RunState
  /** Why it exists, if that is not plain. */
  readonly why?: string
}

/** The states of a run that is under way. */
export const busyStates: readonly RunState[] = runStates.filter((state) => state !== 'Idle' && state !== 'Failed')

const arrowList = [
  { event: 'inputReceived', from: 'Idle', to: 'ProcessingUserMessage' },
  {
    event: 'inputReceived',
    from: 'Failed',
    to: 'ProcessingUserMessage',
    why: 'a failure ends the run, not the worker: the next input starts another run',
  },

  { event: 'requestSent', from: 'ProcessingUserMessage', to: 'AwaitingLLMResponse' },
  { event: 'requestSent', from: 'GeneratingResponse', to: 'AwaitingLLMResponse' },
  { event: 'replyReceived', from: 'AwaitingLLMResponse', to: 'ProcessingLLMResponse' },
  { event: 'replyFailed', from: 'AwaitingLLMResponse', to: 'TransientFailure' },
  {
    event: 'replyRefused',
    from: 'AwaitingLLMResponse',
    to: 'Failed',
    why: 'no retry mends what the provider refuses: a wrong key, a prompt that is too long',
  },

  { event: 'answered', from: 'ProcessingLLMResponse', to: 'Idle' },
  {
    event: 'answered',
    from: 'ProcessingToolResults',
    to: 'Idle',
    why: 'a call ends the run: its tool is terminal, or the model said that the loop ends after it',
  },
  {
    event: 'answered',
    from: 'GeneratingResponse',
    to: 'Idle',
    why: 'a call ends the run, and another of the same reply was denied after it',
  },
  {
    event: 'blankReply',
    from: 'ProcessingLLMResponse',
    to: 'GeneratingResponse',
    why: 'a reply that says nothing and calls nothing is asked for again',
  },
  {
    event: 'replyCut',
    from: 'ProcessingLLMResponse',
    to: 'GeneratingResponse',
    why: 'a text that was cut off at its length is continued',
  },
  ...(['ProcessingLLMResponse', 'AwaitingToolApproval', 'ExecutingTools'] as const).map(
    (from) =>
      ({
        event: 'steered',
        from,
        to: 'GeneratingResponse',
        why: 'a message came that the model reads next: in place of the end of the run, or of the calls that it interrupts',
      }) as const,
  ),
  {
    event: 'replyTimedOut',
    from: 'AwaitingLLMResponse',
    to: 'GeneratingResponse',
    why: 'a reply that took too long is answered in the conversation: smaller steps',
  },
  {
    event: 'outputRefused',
    from: 'ProcessingLLMResponse',
    to: 'GeneratingResponse',
    why: 'an answer that does not fit the output of its kind is answered with what is wrong',
  },
  {
    event: 'answerHeld',
    from: 'ProcessingLLMResponse',
    to: 'GeneratingResponse',
    why: 'a hook of the kind asks for more than the answer',
  },
  { event: 'callsInvalid', from: 'ProcessingLLMResponse', to: 'HandlingToolError' },
  { event: 'approvalNeeded', from: 'ProcessingLLMResponse', to: 'AwaitingToolApproval' },
  {
    event: 'approvalNeeded',
    from: 'ExecutingTools',
    to: 'AwaitingToolApproval',
    why: 'a turn that takes up recorded calls finds one that needs an approval, or that is not what was approved',
  },
  { event: 'callsAccepted', from: 'ProcessingLLMResponse', to: 'ExecutingTools' },
  { event: 'approved', from: 'AwaitingToolApproval', to: 'ExecutingTools' },
  { event: 'denied', from: 'AwaitingToolApproval', to: 'GeneratingResponse' },

  {
    event: 'toolRefused',
    from: 'AwaitingToolApproval',
    to: 'Failed',
    why: 'nobody approves the call, and the session says that its run then fails',
  },

  { event: 'toolsFinished', from: 'ExecutingTools', to: 'ProcessingToolResults' },
  { event: 'toolFailed', from: 'ExecutingTools', to: 'TransientFailure' },
  { event: 'toolRefused', from: 'ExecutingTools', to: 'Failed' },
  { event: 'resultsAdded', from: 'ProcessingToolResults', to: 'GeneratingResponse' },
  { event: 'errorAdded', from: 'HandlingToolError', to: 'GeneratingResponse' },
  {
    event: 'circuitOpened',
    from: 'ProcessingToolResults',
    to: 'Failed',
    why: 'the same errors came several times in a row: the model does not get out by itself',
  },
  {
    event: 'circuitOpened',
    from: 'GeneratingResponse',
    to: 'Failed',
    why: 'the same calls were denied several times in a row',
  },
  {
    event: 'circuitOpened',
    from: 'HandlingToolError',
    to: 'Failed',
    why: 'the same invalid calls came several times in a row',
  },

  { event: 'modelRetried', from: 'TransientFailure', to: 'AwaitingLLMResponse' },
  { event: 'toolRetried', from: 'TransientFailure', to: 'ExecutingTools' },
  { event: 'retriesExceeded', from: 'TransientFailure', to: 'Failed' },
  {
    event: 'retriesExceeded',
    from: 'AwaitingLLMResponse',
    to: 'Failed',
    why: 'the last attempt fails without a pause before it',
  },

  {
    event: 'limitReached',
    from: 'ProcessingLLMResponse',
    to: 'Failed',
    why: 'the reply asks for tools, and no further model call is allowed to read their results',
  },
  {
    event: 'limitReached',
    from: 'ProcessingUserMessage',
    to: 'Failed',
    why: 'the budget is spent before the first model call',
  },
  {
    event: 'limitReached',
    from: 'GeneratingResponse',
    to: 'Failed',
    why: 'the budget is spent before a further model call',
  },
  {
    event: 'limitReached',
    from: 'AwaitingLLMResponse',
    to: 'Failed',
    why: 'the request is not sent: all agents of the session together have used what they may',
  },

  ...fromBusyStates('cancelled', 'Idle', 'a run can be cancelled at any moment, and the worker goes on with its mail'),
  ...fromBusyStates('quarantined', 'Failed', 'a run that kills the nodes it runs on is ended wherever it stands'),
] as const satisfies readonly Arrow[]

export type RunEvent = (typeof arrowList)[number]['event']
/** All arrows of the diagram. */
export const runArrows: readonly (Arrow & { readonly event: RunEvent })[] = arrowList

function fromBusyStates<const Event extends string>(event: Event, to: RunState, why: string) {
  return busyStates.map((from) => ({ event, from, to, why }))
}

// Without Map.groupBy: `import 'troupe'` runs this also on a Node that is too old, and startNode then says so.
const nextStates = new Map<RunState, Map<RunEvent, RunState>>()
for (const { from, event, to } of runArrows) nextStates.set(from, (nextStates.get(from) ?? new Map()).set(event, to))

/** The next state; null if the event does not apply. */
export function transition(state: RunState, event: RunEvent): RunState | null {
  return nextStates.get(state)?.get(event) ?? null
}

export class RunMachine {
  #state: RunState
  readonly #onIgnored: (state: RunState, event: RunEvent) => void

  constructor(state: RunState = 'Idle', onIgnored: (state: RunState, event: RunEvent) => void = () => {}) {
    this.#state = state
    this.#onIgnored = onIgnored
  }

  get state(): RunState {
    return this.#state
  }

  /** Returns false if the event does not apply; then the state does not change. */
  apply(event: RunEvent): boolean {
    const next = transition(this.#state, event)
    if (next === null) {
      this.#onIgnored(this.#state, event)
      return false
    }
    this.#state = next
    return true
  }
}
