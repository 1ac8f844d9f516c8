/**
 * Duty: one session that a person talks with while they may type at any time: what they say goes in, what it does and answers comes out.
 * OPEN-TALK-1 Messages go in the order in which they were typed, also while a run goes on: then they wait for it, unless they steer it.
 * OPEN-TALK-2 Each run that ends while it is open here prints its answer once. Records say which runs have ended; events only say when to look.
 *             What cannot be read while Redis is away is read when it is back.
 * OPEN-TALK-3 To leave it changes nothing: the session goes on, and waits for messages.
 */
import type { Troupe } from '../../../client/client.ts'
import type { WorkerReport } from '../../../client/report.ts'
import type { Session } from '../../../client/session/session.ts'
import { TransientError } from '../../../core/errors.ts'
import type { RawEvent } from '../../../core/event/event.ts'
import type { RunResult } from '../../../core/history/entry.ts'
import type { SendTime } from '../../../core/worker/message/steer.ts'
import { toComplaint } from '../../exit-code.ts'
import { paint, safe } from '../../terminal/output.ts'
import type { PromptView } from '../../terminal/prompt-view.ts'
import type { StandingPrompt } from '../../terminal/standing-prompt.ts'
import type { Follower } from './follow.ts'
import { OpenAsk, runEnds } from './open-ask.ts'
import { tellRetry } from './print-result.ts'

const againMs = 2_000

export interface ConversationOptions {
  readonly troupe: Troupe
  readonly session: Session
  readonly prompt: StandingPrompt
  /** The view shows this session alone. */
  readonly view: PromptView
  /** Shows the session in this view. */
  readonly follower: Follower
  /** Its first worker as it was when it was opened; absent for a new session. */
  readonly known?: WorkerReport | undefined
  /** Called when an ask has come or gone, and the prompt has changed with it. */
  readonly onChange: () => void
  /** Writes the answer of a run. */
  readonly print: (result: RunResult) => void
}

export class Conversation implements AsyncDisposable {
  readonly session: Session
  readonly ask: OpenAsk
  readonly #o: ConversationOptions
  readonly #over = new AbortController()
  /** The answers of runs up to this one have been printed, or were there before. */
  #printed: number
  #turn: Promise<void> = Promise.resolve()
  /** Set while answers could not be read, and are to be read again. */
  #again: NodeJS.Timeout | undefined

  constructor(options: ConversationOptions) {
    const { troupe, session, prompt, view, follower, known, onChange } = options
    this.session = session
    this.#o = options
    view.watch(session.rootId)
    follower.onEvent = (event) => this.#note(event)
    this.#printed = known === undefined ? 0 : endedRuns(known)
    this.ask = new OpenAsk(troupe, session, prompt, onChange)
    this.ask.look()
  }

  /** Whether a run is in progress. */
  get isBusy(): boolean {
    return this.#o.view.isBusy
  }

  labelOf(workerId: string): string | undefined {
    return this.#o.follower.roster.labelOf(workerId)
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
    clearTimeout(this.#again)
    this.ask[Symbol.dispose]()
    await this.#turn
    this.#o.view[Symbol.dispose]()
    await this.#o.follower[Symbol.asyncDispose]()
  }

  #note(event: RawEvent): void {
    this.ask.note(event)
    if (event.type === 'session.retried') this.#printed = Math.min(this.#printed, Number(event.details.run) - 1)
    if (event.workerId === this.session.rootId && runEnds.has(event.type)) void this.printAnswers()
  }

  /** Writes the answers of runs that have ended by now. */
  printAnswers(): Promise<void> {
    return this.#inOrder(async () => {
      try {
        await this.#printAnswers()
        clearTimeout(this.#again)
        this.#again = undefined
      } catch (thrown) {
        if (!(thrown instanceof TransientError) || this.#over.signal.aborted) throw thrown
        const isSaid = this.#again !== undefined
        clearTimeout(this.#again)
        this.#again = setTimeout(() => void this.printAnswers(), againMs)
        if (!isSaid) throw thrown
      }
    })
  }

  async #printAnswers(): Promise<void> {
    const ended = endedRuns(await this.session.root.report())
    while (this.#printed < ended && !this.#over.signal.aborted) {
      const run = ++this.#printed
      const result = await this.session.result({ run, signal: this.#over.signal }).catch((thrown: unknown) => {
        this.#printed = Math.min(this.#printed, run - 1)
        throw thrown
      })
      const { prompt, print } = this.#o
      prompt.aside(() => print(result))
      await tellRetry(this.session, result, (line) => prompt.tell(line))
      prompt.tell('')
    }
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((thrown: unknown) => {
      if (!this.#over.signal.aborted) this.#o.prompt.tell(`troupe: ${safe(toComplaint(thrown).message)}`)
    })
    return this.#turn
  }

  #whisper(text: string): void {
    this.#o.prompt.tell(paint('dim', text, process.stderr))
  }
}

/** How many runs of this worker have ended. */
export function endedRuns({ runs, lifecycle }: WorkerReport): number {
  return lifecycle === 'busy' ? Math.max(0, runs - 1) : runs
}
