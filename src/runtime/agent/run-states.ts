/** Duty: move the state of a run to its next model call, from any state in which the last commit left it. */
import type { RunEvent, RunMachine } from '../../core/worker/run/lifecycle.ts'
import type { RunState } from '../../core/worker/run/run-state.ts'

const nextEvent: Partial<Record<RunState, RunEvent>> = {
  Idle: 'inputReceived',
  Failed: 'inputReceived',
  ProcessingUserMessage: 'requestSent',
  GeneratingResponse: 'requestSent',
  HandlingToolError: 'errorAdded',
  ExecutingTools: 'toolsFinished',
  ProcessingToolResults: 'resultsAdded',
  TransientFailure: 'modelRetried',
}

/** Moves to the state in which only the request is left to send. If a limit forbids the request, the run ends from this state. */
export function advanceToRequest(machine: RunMachine): void {
  for (let event = nextEvent[machine.state]; event !== undefined; event = nextEvent[machine.state]) {
    if (event === 'requestSent') return
    machine.apply(event)
  }
}

/** Moves on to the state in which a reply is awaited, because the request is about to be sent. */
export function advanceToReply(machine: RunMachine): void {
  if (nextEvent[machine.state] === 'requestSent') machine.apply('requestSent')
}
