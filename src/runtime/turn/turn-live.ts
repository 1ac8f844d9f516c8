/**
 * Duty: what those who follow a session are told of one turn while it runs: the fine state of its worker, its tools and their progress, and
 * the text that its model streams.
 * TURN-LIVE-1 Nothing is published unless somebody follows the session. The turn remembers what it does even then, for followers that come late.
 * TURN-LIVE-2 A state is published when it, or the state of the run behind it, differs from the state that was published last.
 */
import type { LiveNote, LivePublisher } from '../../core/ports/live.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import { type FineState, fineState, type RunState } from '../../core/worker/run/run-state.ts'
import type { UnrecordedRun } from './unrecorded-run.ts'

export interface LiveCall {
  readonly toolCallId: string
  readonly toolName: string
}

/** A model call whose text streams. */
interface LiveRequest {
  repeated(): LiveNote[]
}

interface RunningCall extends LiveCall {
  /** The progress that the tool reported last. */
  progress?: { readonly value: unknown }
}

export class TurnLive {
  readonly #assignment: Assignment
  readonly #publisher: LivePublisher
  readonly #calls = new Map<string, RunningCall>()
  #state: FineState = 'working'
  /** The state of the run behind `#state`. */
  #run: RunState
  #publishedState: FineState | undefined
  #publishedRun: RunState | undefined
  #request: LiveRequest | undefined
  #requests = 0

  constructor(assignment: Assignment, publisher: LivePublisher) {
    this.#assignment = assignment
    this.#run = begun(assignment.runState)
    this.#publisher = publisher
  }

  get isFollowed(): boolean {
    return this.#publisher.isFollowed(this.#assignment.sessionId)
  }

  tell(notes: readonly LiveNote[]): void {
    if (notes.length === 0 || !this.isFollowed) return
    this.#publisher.publish(this.#assignment.sessionId, this.#assignment.workerId, notes)
  }

  /** Publishes the first state of the turn. */
  begin(): void {
    this.changeState(this.#state, this.#run)
  }

  changeState(state: FineState, run: RunState): void {
    this.#state = state
    this.#run = run
    if ((state === this.#publishedState && run === this.#publishedRun) || !this.isFollowed) return
    this.#publishedState = state
    this.#publishedRun = run
    this.tell([this.#stateNote()])
  }

  /** `isStored`: the commit that records the start tells followers of it. */
  beginCall({ toolCallId, toolName }: LiveCall, { isStored }: { readonly isStored: boolean }): void {
    this.#calls.set(toolCallId, { toolCallId, toolName })
    if (!isStored) this.tell([['tool.started', { toolCallId, toolName }]])
  }

  progress(toolCallId: string, value: unknown): void {
    const call = this.#calls.get(toolCallId)
    if (call === undefined) return
    call.progress = { value }
    this.tell([progressNote(call, value)])
  }

  endCall(toolCallId: string): void {
    this.#calls.delete(toolCallId)
  }

  /**
   * Returns a name for the model call that no other call of the worker has. After a start that is not counted the next start has the same epoch, and
   * one crash more.
   */
  beginRequest(request: LiveRequest): string {
    this.#request = request
    this.#requests++
    const { epoch, crashes } = this.#assignment
    return `${epoch}.${crashes}.${this.#requests}`
  }

  endRequest(): void {
    this.#request = undefined
  }

  /** Tells a follower that came late what the turn does. */
  repeat(): void {
    this.#publishedState = this.#state
    this.#publishedRun = this.#run
    const notes = [this.#stateNote(), ...(this.#request?.repeated() ?? [])]
    for (const call of this.#calls.values()) {
      notes.push(['tool.started', { toolCallId: call.toolCallId, toolName: call.toolName }])
      if (call.progress) notes.push(progressNote(call, call.progress.value))
    }
    this.#publisher.publish(this.#assignment.sessionId, this.#assignment.workerId, notes, { isRepeat: true })
  }

  #stateNote(): LiveNote {
    return ['worker.stateChanged', { state: this.#state, run: this.#run, epoch: this.#assignment.epoch }]
  }
}

function progressNote({ toolCallId, toolName }: LiveCall, value: unknown): LiveNote {
  return ['tool.progress', { toolCallId, toolName, value }]
}

/** What the worker does: by the last step of its turn, and by what its run has begun since. */
export function stateOf(
  { open, runState }: RunPosition,
  { run = runState, firstByteSeen }: Pick<UnrecordedRun, 'run' | 'firstByteSeen'>,
  isOver: boolean,
): FineState {
  if (isOver) return fineState({ run: runState, worker: open ? 'parked' : 'idle' })
  return fineState({ run, firstByteSeen, worker: 'running' })
}

/** The state of the worker's run, in the same way. */
export function runOf(
  { runState }: RunPosition,
  { run = runState }: Pick<UnrecordedRun, 'run'>,
  isOver: boolean,
): RunState {
  return isOver ? runState : begun(run)
}

/** A worker that runs and has recorded nothing of its run is at its first message. */
function begun(run: RunState): RunState {
  return run === 'Idle' || run === 'Failed' ? 'ProcessingUserMessage' : run
}
