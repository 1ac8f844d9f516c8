/**
 * Duty: ask the person at the terminal of `troupe run` what its session asks: may this tool call run, and the questions of workers.
 * HERE-1 One ask at a time, the oldest first. While a person reads it, nothing is drawn below it.
 * HERE-2 Somebody else may answer first, elsewhere, or the ask may be withdrawn. Then this prompt ends, and says so.
 * HERE-3 Nothing is decided by a key pressed before the ask was shown, nor by an empty line.
 * HERE-4 While Redis is away, it looks again and again: an ask that could not be read is shown once it can be.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Troupe } from '../../../client/client.ts'
import { answerCommand } from '../../../client/person/answer-command.ts'
import type { Approval } from '../../../client/person/approvals.ts'
import type { Ask } from '../../../client/person/asks.ts'
import type { Session } from '../../../client/session/session.ts'
import { ConflictError, TransientError } from '../../../core/errors.ts'
import type { RawEvent } from '../../../core/event/event.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { toComplaint } from '../../exit-code.ts'
import type { Interrupt } from '../../terminal/interrupt.ts'
import { InterruptKeys } from '../../terminal/interrupt-keys.ts'
import { MessagePrompt } from '../../terminal/message-prompt.ts'
import { safe } from '../../terminal/output.ts'
import type { SessionView } from '../../terminal/session-view.ts'
import { argumentLines, callerText } from '../approval/approval-text.ts'
import { waiter } from './ask-text.ts'
import { oldestAsk, typedAnswer } from './person-asks.ts'
import { decide, decisionHelp, decisionOf } from './typed-decision.ts'

export interface AskHereOptions {
  readonly troupe: Troupe
  readonly session: Session
  readonly view: SessionView
  readonly interrupt: Interrupt
  /** A program reads the output: nobody is asked. */
  readonly isJson: boolean
  /** Default: the terminal of the process. */
  readonly prompt?: Pick<MessagePrompt, 'isShown' | 'next' | 'forgetTyped'> & Disposable
}

/** After this long it looks again for asks that could not be read. */
const againMs = 1_000

/** `over` is aborted when the ask has ended elsewhere. */
interface ShownAsk extends Pick<Ask, 'id' | 'workerId'> {
  readonly over: AbortController
}

export class AskHere implements Disposable {
  readonly #o: AskHereOptions
  readonly #prompt: NonNullable<AskHereOptions['prompt']>
  readonly #over = new AbortController()
  #shown: ShownAsk | undefined
  #keys: InterruptKeys | undefined
  #isAsking = false
  #mayBeMore = false
  /** Redis was away at the last look, and the person was told. */
  #isAway = false

  constructor(options: AskHereOptions) {
    this.#o = options
    this.#prompt = options.prompt ?? new MessagePrompt()
    this.#keys = new InterruptKeys()
    options.interrupt.signal.addEventListener('abort', this.#stop, { once: true })
  }

  /** False without a person at a terminal. */
  get isPossible(): boolean {
    return this.#prompt.isShown && !this.#o.isJson
  }

  /** Called for each event of the session. */
  readonly note = ({ type, workerId, details, transient }: RawEvent): void => {
    if (!this.isPossible) return
    const shown = this.#shown
    if (type === 'ask.opened') void this.#askAll()
    else if ((type === 'ask.answered' || type === 'ask.expired') && details.id === shown?.id) shown?.over.abort()
    // An interrupt and the end of its run withdraw an ask without an event of its own. What is stored of them is enough: streamed text would cost a
    // look each time.
    else if (transient !== true && workerId === shown?.workerId) void this.#lookAt(shown)
  };

  [Symbol.dispose](): void {
    this.#stop()
    this.#o.interrupt.signal.removeEventListener('abort', this.#stop)
    this.#keys?.[Symbol.dispose]()
    this.#keys = undefined
    this.#prompt[Symbol.dispose]()
  }

  readonly #stop = (): void => this.#over.abort()

  async #lookAt({ id, over }: ShownAsk): Promise<void> {
    const ask = await this.#o.troupe.asks.get(id).catch(() => undefined)
    if (ask !== undefined && ask.state !== 'open') over.abort()
  }

  async #askAll(): Promise<void> {
    this.#mayBeMore = true
    if (this.#isAsking) return
    this.#isAsking = true
    try {
      while (this.#mayBeMore && !this.#over.signal.aborted) {
        this.#mayBeMore = false
        await this.#askOldest()
      }
    } catch (thrown) {
      this.#o.view.tell(`troupe: ${safe(toComplaint(thrown).message)}`)
    } finally {
      this.#isAsking = false
    }
  }

  async #askOldest(): Promise<void> {
    try {
      const next = await oldestAsk(this.#o.session)
      if (next !== undefined) this.#mayBeMore = await this.#ask(next)
      this.#isAway = false
    } catch (thrown) {
      if (!(thrown instanceof TransientError)) throw thrown
      if (!this.#isAway) this.#o.view.tell(`troupe: ${safe(toComplaint(thrown).message)}`)
      this.#isAway = true
      this.#mayBeMore = true
      await sleep(againMs, undefined, { signal: this.#over.signal }).catch(() => {})
    }
  }

  /** False: the person has left. */
  async #ask(ask: Ask): Promise<boolean> {
    const { view } = this.#o
    const over = new AbortController()
    this.#shown = { id: ask.id, workerId: ask.workerId, over }
    // HERE-1, and the prompt reads the terminal by itself.
    view.end()
    this.#keys?.[Symbol.dispose]()
    this.#keys = undefined
    try {
      const signal = AbortSignal.any([this.#over.signal, over.signal])
      const isApproval = ask.kind === 'approval'
      const approval = isApproval ? await this.#o.troupe.approvals.get(ask.id) : null
      for (const line of approval === null ? questionLines(ask) : approvalLines(approval)) view.tell(line)
      await this.#prompt.forgetTyped()
      return await this.#untilDecided(ask, approval, signal)
    } finally {
      this.#shown = undefined
      if (!this.#over.signal.aborted) {
        this.#keys = new InterruptKeys()
        view.resume()
      }
    }
  }

  async #untilDecided(ask: Ask, approval: Approval | null, signal: AbortSignal): Promise<boolean> {
    const { view, troupe } = this.#o
    for (;;) {
      const typed = await this.#prompt.next(signal, approval === null ? 'Answer: ' : promptOf(approval))
      if (typed.kind !== 'line') return this.#left(ask, typed.kind, signal)
      try {
        if (approval === null) await troupe.asks.answer(ask.id, await typedAnswer(ask, typed.text.trim()))
        else if (!(await this.#decide(approval, typed.text.trim()))) continue
        return true
      } catch (thrown) {
        view.tell(`troupe: ${safe(toComplaint(thrown).message)}`)
        // Somebody else has answered, or the run has ended: there is nothing left to say.
        if (thrown instanceof ConflictError) return true
      }
    }
  }

  /** False: the person wants to be asked again. */
  async #decide(approval: Approval, text: string): Promise<boolean> {
    const { view, troupe } = this.#o
    if (text === '?') {
      for (const line of [...decisionHelp, 'Any other text denies the call, and the model reads it as the reason.'])
        view.tell(`  ${line}`)
      return false
    }
    await decide(troupe, approval, decisionOf(text) ?? { decision: 'deny', reason: text })
    return true
  }

  #left({ id, kind: sort }: Ask, kind: 'end' | 'interrupt', signal: AbortSignal): boolean {
    const { view } = this.#o
    if (this.#over.signal.aborted) return false
    if (signal.aborted) {
      view.tell(`troupe: ask ${id} was answered elsewhere, or is over`)
      return true
    }
    if (kind === 'end') view.tell(`troupe: ask ${id} stays open; answer it with: ${answerCommand(id, sort)}`)
    // Ctrl+C: as anywhere in this command.
    else process.kill(process.pid, 'SIGINT')
    return false
  }
}

export function approvalLines(approval: Approval): string[] {
  const { tool, why, again } = approval
  return [
    '',
    `${escapeLine(callerText(approval))} wants to call ${escapeLine(tool)}; you are asked because ${escapeLine(why)}`,
    ...(again === null ? [] : [`It is asked again: ${escapeLine(again)}`]),
    ...argumentLines(approval).map((line) => `  ${line}`),
  ]
}

export function promptOf({ eachTime }: Approval): string {
  return eachTime ? 'Run it? y, n, e, ? ' : 'Run it? y, n, t, e, ? '
}

export function questionLines(ask: Ask): string[] {
  const { question, options } = ask
  return [
    '',
    `${escapeLine(waiter(ask))} asks: ${escapeLine(question)}`,
    ...(options === null ? [] : [`One of: ${escapeLine(options.join(', '))}`]),
  ]
}
