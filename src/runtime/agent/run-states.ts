/** Duty: the way of a run's state to its next model call, from wherever the last commit left it. */
import type { RunEvent, RunMachine } from '../../core/worker/lifecycle.ts'
import type { RunState } from '../../core/worker/run-state.ts'

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

/** To where nothing but the request is to be sent: what forbids it ends the run from there. */
export function advanceToRequest(machine: RunMachine): void {
  for (let event = nextEvent[machine.state]; event !== undefined; event = nextEvent[machine.state]) {
    if (event === 'requestSent') return
    machine.apply(event)
  }
}

/** On to where a reply is awaited: the request is about to be sent. */
export function advanceToReply(machine: RunMachine): void {
  if (nextEvent[machine.state] === 'requestSent') machine.apply('requestSent')
}
