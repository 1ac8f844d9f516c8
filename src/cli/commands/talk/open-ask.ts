/**
 * Duty: what a session asks a person while they may type anything: the oldest ask is shown, and a line that answers it is taken as the answer.
 * OPEN-ASK-1 A line that was begun before the ask was shown is no answer. Nor is, for an approval, any line but y, n, t, e and ?.
 * OPEN-ASK-2 Somebody else may answer first, or the ask may be withdrawn. Then the next ask is shown.
 *            What cannot be read while Redis is away is read when it is back.
 * OPEN-ASK-3 An ask takes one line as its answer: the next line is no answer to it.
 */
import type { Troupe } from '../../../client/client.ts'
import type { Approval } from '../../../client/person/approvals.ts'
import type { Ask } from '../../../client/person/asks.ts'
import type { Session } from '../../../client/session/session.ts'
import { TransientError } from '../../../core/errors.ts'
import type { EventType, RawEvent } from '../../../core/event/event.ts'
import { toComplaint } from '../../exit-code.ts'
import { safe } from '../../terminal/output.ts'
import type { StandingPrompt } from '../../terminal/standing-prompt.ts'
import { approvalLines, promptOf, questionLines } from '../ask/ask-here.ts'
import { oldestAsk, typedAnswer } from '../ask/person-asks.ts'
import { decide, decisionHelp, decisionOf } from '../ask/typed-decision.ts'

/** Events after which asks may be over, because their run has ended. */
export const runEnds: ReadonlySet<EventType> = new Set<EventType>([
  'run.completed',
  'worker.failed',
  'worker.cancelled',
])

interface Shown {
  readonly ask: Ask
  /** Null: the ask is a question. */
  readonly approval: Approval | null
  /** True if the person was typing when the ask was shown. */
  wasTyping: boolean
}

const againMs = 2_000

export class OpenAsk implements Disposable {
  readonly #troupe: Troupe
  readonly #session: Session
  readonly #prompt: StandingPrompt
  readonly #onChange: () => void
  #shown: Shown | undefined
  /** The ask that was answered here last. A look that began before that may still find it. */
  #answered: string | undefined
  #looking: Promise<void> = Promise.resolve()
  /** Set while asks could not be read, and are to be read again. */
  #again: NodeJS.Timeout | undefined
  #isOver = false

  /** `onChange`: another ask is shown, or none. */
  constructor(troupe: Troupe, session: Session, prompt: StandingPrompt, onChange: () => void) {
    this.#troupe = troupe
    this.#session = session
    this.#prompt = prompt
    this.#onChange = onChange
  }

  /** The prompt that asks for the answer; undefined if nothing is asked. */
  get promptText(): string | undefined {
    if (this.#shown === undefined || this.#shown.wasTyping) return undefined
    return this.#shown.approval === null ? 'Answer: ' : promptOf(this.#shown.approval)
  }

  /** Called for each event of the session. */
  note({ type, workerId, details, transient }: RawEvent): void {
    const isOver = type === 'ask.answered' || type === 'ask.expired'
    // An interrupt withdraws an ask without an event of its own. What is stored of it is enough: streamed text would cost a look each time.
    const mayBeWithdrawn = runEnds.has(type) || (transient !== true && workerId === this.#shown?.ask.workerId)
    if (isOver && details.id === this.#shown?.ask.id) this.#shown = undefined
    if (type === 'ask.opened' || isOver || mayBeWithdrawn) this.look()
  }

  /** Shows the oldest open ask, unless one is shown. */
  look(): void {
    this.#looking = this.#looking.then(() => this.#lookOrLater()).catch((thrown: unknown) => this.#tell(thrown))
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    clearTimeout(this.#again)
  }

  async #lookOrLater(): Promise<void> {
    if (this.#isOver) return
    try {
      await this.#look()
      clearTimeout(this.#again)
      this.#again = undefined
    } catch (thrown) {
      if (this.#isOver) return
      if (!(thrown instanceof TransientError)) throw thrown
      const isSaid = this.#again !== undefined
      clearTimeout(this.#again)
      this.#again = setTimeout(() => this.look(), againMs)
      if (!isSaid) throw thrown
    }
  }

  /** Takes a typed line. Returns false if it is no answer. */
  async take(line: string): Promise<boolean> {
    const shown = this.#shown
    if (shown === undefined) return false
    if (shown.wasTyping) {
      shown.wasTyping = false
      this.#onChange()
      return false
    }
    const text = line.trim()
    if (text.startsWith('/')) return false
    try {
      return shown.approval === null ? await this.#answer(shown.ask, text) : await this.#decide(shown.approval, text)
    } catch (thrown) {
      this.#tell(thrown)
      this.look()
      return true
    }
  }

  async #answer(ask: Ask, text: string): Promise<boolean> {
    await this.#troupe.asks.answer(ask.id, await typedAnswer(ask, text))
    this.#isAnswered(ask)
    return true
  }

  #isAnswered({ id }: Pick<Ask, 'id'>): void {
    this.#answered = id
    if (this.#shown?.ask.id === id) this.#shown = undefined
    this.#onChange()
    this.look()
  }

  async #decide(approval: Approval, text: string): Promise<boolean> {
    if (text === '?') {
      this.#prompt.tell(...decisionHelp.map((line) => `  ${line}`), '  Any other line is a message.')
      return true
    }
    const decision = decisionOf(text)
    if (decision === null) return false
    if (decision === 'edit') this.#prompt.leave()
    try {
      await decide(this.#troupe, approval, decision)
    } finally {
      if (decision === 'edit') this.#prompt.stand()
    }
    this.#isAnswered(approval)
    return true
  }

  async #look(): Promise<void> {
    const ask = await oldestAsk(this.#session)
    // The oldest stays the oldest for as long as it is open.
    if (ask !== undefined && ask.id === this.#shown?.ask.id) return
    this.#shown = undefined
    if (ask === undefined || ask.id === this.#answered) {
      this.#onChange()
      return
    }
    const approval = ask.kind === 'approval' ? await this.#troupe.approvals.get(ask.id) : null
    this.#prompt.tell(...(approval === null ? questionLines(ask) : approvalLines(approval)))
    this.#shown = { ask, approval, wasTyping: this.#prompt.typed !== '' }
    this.#onChange()
  }

  #tell(thrown: unknown): void {
    this.#prompt.tell(`troupe: ${safe(toComplaint(thrown).message)}`)
  }
}
