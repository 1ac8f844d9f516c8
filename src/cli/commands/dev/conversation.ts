/**
 * Duty: one session that a person talks with while they may type at any time: what they say goes in, what it does and answers comes out.
 * CONVERSATION-1 Messages go in the order in which they were typed, also while a run goes on: then they wait for it, unless they steer it.
 * CONVERSATION-2 Each run that ends while it is open here prints its answer once. Records say which runs have ended; events only say when to look.
 * CONVERSATION-3 To leave it changes nothing: the session goes on, and waits for messages.
 */
import type { Troupe } from '../../../client/client.ts'
import type { WorkerReport } from '../../../client/report.ts'
import type { Session } from '../../../client/session/session.ts'
import type { EventType, RawEvent } from '../../../core/event/event.ts'
import type { SendTime } from '../../../core/worker/steer.ts'
import { toComplaint } from '../../exit-code.ts'
import { paint, safe } from '../../terminal/output.ts'
import { PromptView } from '../../terminal/prompt-view.ts'
import type { StandingPrompt } from '../../terminal/standing-prompt.ts'
import { Follower } from '../follow.ts'
import { printResult, tellRetry } from '../print-result.ts'
import { OpenAsk } from './open-ask.ts'

const runEnds: ReadonlySet<EventType> = new Set<EventType>(['run.completed', 'worker.failed', 'worker.cancelled'])

export interface ConversationPlace {
  readonly troupe: Troupe
  readonly prompt: StandingPrompt
  /** What is asked has changed, and the prompt with it. */
  readonly onChange: () => void
}

export class Conversation implements AsyncDisposable {
  readonly session: Session
  readonly ask: OpenAsk
  readonly #prompt: StandingPrompt
  readonly #view: PromptView
  readonly #follower: Follower
  readonly #over = new AbortController()
  /** The answers of runs up to this one are printed, or were there before. */
  #printed: number
  #turn: Promise<void> = Promise.resolve()

  /** `known`: its workers as they were when it was opened; absent for a new session. */
  constructor(session: Session, { troupe, prompt, onChange }: ConversationPlace, known?: readonly WorkerReport[]) {
    this.session = session
    this.#prompt = prompt
    this.#view = new PromptView(prompt)
    this.#view.watch(session.rootId)
    this.#follower = new Follower(session, this.#view, undefined, known === undefined ? 'beginning' : 'now')
    this.#follower.onEvent = (event) => this.#note(event)
    const root = known?.find(({ id }) => id === session.rootId)
    this.#printed = root === undefined ? 0 : endedRuns(root)
    if (known !== undefined) this.#view.fill(known, this.#follower.roster, Date.now())
    this.ask = new OpenAsk(troupe, session, prompt, onChange)
    this.ask.look()
  }

  /** Whether a run goes on. */
  get isBusy(): boolean {
    return this.#view.isBusy
  }

  labelOf(workerId: string): string | undefined {
    return this.#follower.roster.labelOf(workerId)
  }

  /** Sends a message after those that were said before. */
  say(value: unknown, when?: SendTime): Promise<void> {
    return this.#inOrder(async () => {
      const wasBusy = this.isBusy
      const { steers } = await this.session.root.send(value, { when })
      if (when !== undefined && !steers) this.#whisper('no run was in progress: the message begins one')
      else if (wasBusy && !steers) this.#whisper('it waits for the end of this run; /steer brings it into the run')
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await this.#turn
    this.#view[Symbol.dispose]()
    await this.#follower[Symbol.asyncDispose]()
  }

  #note(event: RawEvent): void {
    this.ask.note(event)
    if (event.type === 'session.retried') this.#printed = Math.min(this.#printed, Number(event.details.run) - 1)
    if (event.workerId === this.session.rootId && runEnds.has(event.type))
      void this.#inOrder(() => this.#printAnswers())
  }

  async #printAnswers(): Promise<void> {
    const ended = endedRuns(await this.session.root.report())
    while (this.#printed < ended && !this.#over.signal.aborted) {
      this.#printed++
      const result = await this.session.result({ run: this.#printed, signal: this.#over.signal })
      this.#prompt.aside(() => printResult(this.session.id, result, {}))
      await tellRetry(this.session, result, (line) => this.#prompt.tell(line))
      this.#prompt.tell('')
    }
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((thrown: unknown) => {
      if (!this.#over.signal.aborted) this.#prompt.tell(`troupe: ${safe(toComplaint(thrown).message)}`)
    })
    return this.#turn
  }

  #whisper(text: string): void {
    this.#prompt.tell(paint('dim', text, process.stderr))
  }
}

/** How many runs of this worker have ended. */
export function endedRuns({ runs, lifecycle }: WorkerReport): number {
  return lifecycle === 'busy' ? Math.max(0, runs - 1) : runs
}
