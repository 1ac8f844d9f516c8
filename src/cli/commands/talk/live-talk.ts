/**
 * Duty: the conversation of `troupe run --keep-open` at a terminal: the person types at any time, and sees what the session does.
 * LIVE-TALK-1 The person decides how it ends: Ctrl+D and /quit close the conversation once every message has its answer; Ctrl+C while nothing
 *             runs leaves it open, and so does a lost terminal. The command says which of the two happened. An error closes nothing.
 * LIVE-TALK-2 Ctrl+C or Esc during an answer cancels that answer, and the conversation goes on. A second Ctrl+C leaves it. Where the command begins
 *             or ends, Ctrl+C is a signal as in any other command: it never waits for Redis, nor for a node.
 */
import type { Troupe } from '../../../client/client.ts'
import type { Session } from '../../../client/session/session.ts'
import type { RunResult } from '../../../core/history/entry.ts'
import type { SendTime } from '../../../core/worker/message/steer.ts'
import { exitCodes, toComplaint } from '../../exit-code.ts'
import { type InputFlags, parseInput } from '../../input.ts'
import type { RawFlag } from '../../options.ts'
import type { Interrupt } from '../../terminal/interrupt.ts'
import { pageOf, paint, safe } from '../../terminal/output.ts'
import { PromptView } from '../../terminal/prompt-view.ts'
import { type PromptKeys, type PromptTerminal, StandingPrompt } from '../../terminal/standing-prompt.ts'
import { chatted, typedWords } from './chat-commands.ts'
import { Conversation } from './conversation.ts'
import { leftOpen, notClosedText } from './converse.ts'
import { cancelRunOf, type Follower } from './follow.ts'
import { printResult } from './print-result.ts'

export interface LiveTalkOptions {
  /** Creates the session with its first message. */
  readonly begin: (first: unknown) => Promise<{ readonly session: Session; readonly follower: Follower }>
  /** The first message, if the command line names one. */
  readonly first: unknown
  readonly flags: InputFlags & RawFlag
  readonly interrupt: Interrupt
  readonly troupe: Troupe
}

export class LiveTalk implements Disposable {
  readonly view: PromptView
  readonly #prompt: StandingPrompt
  /** How the person leaves. */
  readonly #left = Promise.withResolvers<'close' | 'leave'>()
  #o: LiveTalkOptions | undefined
  #now: Conversation | undefined
  #last: RunResult | undefined
  #isCancelling = false
  #isLeaving = false
  /** Lines that are typed before `run` wait for it. */
  readonly #ready = Promise.withResolvers<void>()
  #turn: Promise<void> = this.#ready.promise

  /** Default: the terminal of the process. */
  constructor(terminal: PromptTerminal = {}) {
    const keys: PromptKeys = {
      onLine: (line, alt) => this.#enter(line, alt),
      onEscape: () => this.#cancel(),
      onInterrupt: () => this.#interrupt(),
      // Lines that were typed before are handled first.
      onEnd: () => {
        this.#turn = this.#turn.then(() => this.#leave('close'))
      },
      onLost: () => this.#leave('leave'),
      complete: (line) => completions(line),
    }
    this.#prompt = new StandingPrompt(keys, terminal.stdin, terminal.stream)
    this.view = new PromptView(this.#prompt)
    this.#prompt.stand()
  }

  [Symbol.dispose](): void {
    this.view[Symbol.dispose]()
    this.#prompt.leave()
  }

  /** Returns the exit code: that of the last answer, if the conversation was closed. */
  async run(options: LiveTalkOptions): Promise<number> {
    this.#o = options
    const { interrupt, first } = options
    this.#prompt.tell(paint('dim', welcome, process.stderr))
    if (first !== undefined) await this.#begin(first)
    this.#ready.resolve()
    void interrupt.first.then(() => this.#leave('leave'))
    const how = await this.#left.promise
    // A message that was typed before creates its session, which must not stay open without a word.
    if (this.#now === undefined) await this.#turn
    await using conversation = this.#now
    if (conversation === undefined)
      return how === 'close' ? exitCodes.ok : (interrupt.exitCode ?? exitCodes.interrupted)
    const { session } = conversation
    try {
      if (how === 'close') return await this.#close(conversation, interrupt)
    } catch (thrown) {
      if (!interrupt.signal.aborted) this.view.tell(notClosedText(session))
      if (!interrupt.signal.aborted) throw thrown
    }
    this.#prompt.leave()
    return leftOpen(session, interrupt, this.view)
  }

  async #close(conversation: Conversation, interrupt: Interrupt): Promise<number> {
    const { session } = conversation
    await session.close()
    if (conversation.isBusy) this.#prompt.tell('troupe: closing; what waits gets its answer first')
    try {
      await session.idle({ signal: interrupt.signal })
    } catch (thrown) {
      if (!interrupt.signal.aborted) throw thrown
      this.#prompt.leave()
      this.view.tell(`troupe: session ${session.id} closes once what waits has its answer`)
      return interrupt.exitCode ?? exitCodes.interrupted
    }
    await conversation.printAnswers()
    this.#prompt.leave()
    this.view.tell(`troupe: the conversation is closed: session ${session.id}`)
    return this.#last === undefined || this.#last.status === 'completed' ? exitCodes.ok : exitCodes.failed
  }

  /** Lines are handled one after the other. */
  #enter(line: string, alt: boolean): void {
    this.#prompt.tell(`${paint('dim', this.#promptText(), process.stderr)}${safe(line)}`)
    this.#turn = this.#turn
      .then(() => this.#take(line, alt))
      .catch((thrown: unknown) => this.#prompt.tell(`troupe: ${safe(toComplaint(thrown).message)}`))
  }

  async #take(line: string, alt: boolean): Promise<void> {
    if (!alt && (await this.#now?.ask.take(line))) return
    const place = { page: pageOf(process.stderr), signal: this.#o?.interrupt.signal ?? new AbortController().signal }
    const typed = await chatted(line, this.#now?.session, place)
    if (typed.kind === 'quit') this.#leave('close')
    else if (typed.kind === 'said') this.#prompt.tell(...typed.lines)
    else await this.#say(typed.text, alt ? 'steer' : typed.when)
  }

  async #say(text: string, when: SendTime | undefined): Promise<void> {
    const value = parseInput(text, this.#o?.flags.as, 'the message')
    this.#isCancelling = false
    if (this.#now === undefined) await this.#begin(value)
    else await this.#now.say(value, when)
  }

  async #begin(first: unknown): Promise<void> {
    const { begin, troupe, flags } = this.#o as LiveTalkOptions
    const { session, follower } = await begin(first)
    this.#now = new Conversation({
      session,
      follower,
      view: this.view,
      troupe,
      prompt: this.#prompt,
      onChange: () => (this.#prompt.text = this.#promptText()),
      print: (result) => {
        this.#last = result
        this.#isCancelling = false
        printResult(session.id, result, flags)
      },
    })
  }

  #promptText(): string {
    return this.#now?.ask.promptText ?? '> '
  }

  #leave(how: 'close' | 'leave'): void {
    this.#isLeaving = true
    this.#left.resolve(how)
  }

  #interrupt(): void {
    if (this.#now?.isBusy && !this.#isCancelling) this.#cancel()
    else if (this.#o === undefined || this.#isLeaving) process.kill(process.pid, 'SIGINT')
    else this.#leave('leave')
  }

  #cancel(): void {
    const now = this.#now
    if (now === undefined || !now.isBusy) return
    this.#isCancelling = true
    this.#prompt.tell('troupe: cancelling this answer (Ctrl+C again to leave)')
    cancelRunOf(now.session).catch((thrown: unknown) =>
      this.#prompt.tell(`troupe: the answer could not be cancelled: ${safe(toComplaint(thrown).message)}`),
    )
  }
}

const welcome =
  'Each line is a message, also while an answer is on its way; /help shows commands. Esc stops an answer; Ctrl+D closes the conversation, Ctrl+C leaves it open.'

function completions(line: string): string[] {
  if (!line.startsWith('/')) return []
  const words = [...typedWords, ['/help'], ['/quit']].map(([typed = '']) => typed.split(' ')[0] ?? '')
  return words.filter((word) => word.startsWith(line))
}
