/**
 * Duty: the prompt of `troupe dev`: pick a kind, talk, and look, while everything goes on.
 * DEV-TALK-1 A line is a message for the kind that was picked, unless it is a command or answers what is asked.
 *            A kind that is alone need not be picked, and may be.
 * DEV-TALK-2 Ctrl+C and /quit end `troupe dev`. The sessions stay open, and /open finds them at the next start.
 */
import type { Troupe } from '../../../client/client.ts'
import type { WorkerReport } from '../../../client/report.ts'
import type { Session } from '../../../client/session/session.ts'
import type { ListedSession } from '../../../client/summaries.ts'
import { didYouMean } from '../../../core/check/closest.ts'
import { count } from '../../../words/amounts.ts'
import { formatDuration } from '../../../words/duration.ts'
import { wrapText } from '../../../words/text/text-width.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { toComplaint } from '../../exit-code.ts'
import type { LoadedKind } from '../../host/child/messages.ts'
import { parseInput } from '../../input.ts'
import { pageOf, paint, safe } from '../../terminal/output.ts'
import { PromptView } from '../../terminal/prompt-view.ts'
import { type PromptKeys, type PromptTerminal, StandingPrompt } from '../../terminal/standing-prompt.ts'
import { kindLines } from '../../view/dev/dev-lines.ts'
import { type Column, tableLines } from '../../view/table.ts'
import { chatted, helpLines, type TypedWords, typedWords } from '../talk/chat-commands.ts'
import { Conversation, endedRuns } from '../talk/conversation.ts'
import { cancelRunOf, Follower } from '../talk/follow.ts'
import { printResult } from '../talk/print-result.ts'
import type { ReportPlace } from './dev-report.ts'

export interface TalkOptions {
  readonly troupe: Troupe
  readonly kinds: () => readonly LoadedKind[]
  readonly problems: () => readonly { readonly kind: string; readonly message: string }[]
  /** Called for Ctrl+C, Ctrl+D and /quit. */
  readonly onEnd: () => void
  /** Default: the terminal of the process. */
  readonly terminal?: PromptTerminal
}

const sessionsShown = 15

const ownWords: TypedWords = [
  ['/kinds', 'the kinds that run here'],
  ['/kind <kind>', 'your next line begins a session of this kind; so does the name of a kind alone'],
  ['/new [message]', 'another session of the same kind'],
  ['/sessions', 'the newest sessions, with numbers'],
  ['/open <number|id>', 'goes on with a session'],
]

export class DevTalk implements ReportPlace, AsyncDisposable {
  readonly prompt: StandingPrompt
  readonly #o: TalkOptions
  #picked: string | undefined
  #now: Conversation | undefined
  #listed: readonly ListedSession[] = []
  #turn: Promise<void> = Promise.resolve()

  constructor(options: TalkOptions) {
    this.#o = options
    const keys: PromptKeys = {
      onLine: (line, alt) => this.#enter(line, alt),
      onEscape: () => this.#cancel(),
      onInterrupt: options.onEnd,
      // Lines that were typed before are handled first.
      onEnd: () => {
        this.#turn = this.#turn.then(options.onEnd)
      },
      onLost: options.onEnd,
      complete: (line) => this.#completions(line),
    }
    this.prompt = new StandingPrompt(keys, options.terminal?.stdin, options.terminal?.stream)
  }

  /** Shows the prompt. */
  begin(): void {
    this.#ask()
    this.prompt.stand()
  }

  tell(line: string): void {
    this.prompt.tell(line)
  }

  kindsChanged(): void {
    this.#ask()
  }

  labelOf(workerId: string): string | undefined {
    return this.#now?.labelOf(workerId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.prompt.leave()
    await this.#now?.[Symbol.asyncDispose]()
  }

  /** Lines are handled one after the other. */
  #enter(line: string, alt: boolean): void {
    this.prompt.tell(`${paint('dim', this.#promptText(), process.stderr)}${safe(line)}`)
    this.#turn = this.#turn
      .then(() => this.#take(line, alt))
      .catch((thrown: unknown) => this.prompt.tell(`troupe: ${safe(toComplaint(thrown).message)}`))
      .then(() => this.#ask())
  }

  async #take(line: string, alt: boolean): Promise<void> {
    if (!alt && (await this.#now?.ask.take(line))) return
    const [, word = '', rest = ''] = /^\s*\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(line) ?? []
    if (await this.#own(word, rest.trim())) return
    const place = { page: pageOf(process.stderr), signal: AbortSignal.timeout(60_000) }
    const typed = await chatted(line, this.#now?.session, place, ownWords)
    if (typed.kind === 'quit') this.#o.onEnd()
    else if (typed.kind === 'said') this.prompt.tell(...typed.lines)
    else await this.#say(typed.text, alt ? 'steer' : typed.when)
  }

  /** False: it is none of the words of this prompt. */
  async #own(word: string, rest: string): Promise<boolean> {
    switch (word) {
      case 'help':
        this.prompt.tell(
          ...helpLines([...ownWords, ...typedWords, ...keysText], pageOf(process.stderr)),
          ...wrapText(moreText, pageOf(process.stderr).columns),
        )
        return true
      case 'kinds':
        this.prompt.tell(...kindLines(this.#o.kinds(), this.#o.problems(), pageOf(process.stderr)))
        return true
      case 'kind':
        await this.#pick(rest)
        return true
      case 'new':
        await this.#new(rest)
        return true
      case 'sessions':
        await this.#list()
        return true
      case 'open':
        await this.#open(rest)
        return true
      default:
        return false
    }
  }

  get #kind(): string | undefined {
    const [only, ...more] = this.#o.kinds()
    return this.#picked ?? (more.length === 0 ? only?.kind : undefined)
  }

  async #say(text: string, when: 'queue' | 'steer' | 'interrupt' | undefined): Promise<void> {
    if (this.#picked === undefined) {
      const [, first = '', rest = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(text) ?? []
      if (this.#kind === undefined || this.#kind === first) {
        await this.#pick(first)
        if (this.#kind === undefined || rest === '') return
        return this.#say(rest, when)
      }
    }
    const kind = this.#kind ?? ''
    // It stays the one of this conversation when others come.
    this.#picked = kind
    const value = parseInput(text, undefined, 'the message')
    if (!this.#o.kinds().some((one) => one.kind === kind))
      this.prompt.tell(
        `troupe: no kind "${safe(kind)}" runs now, and the message waits for one; ${safe(this.#kindsText())}.`,
      )
    if (this.#now !== undefined) return this.#now.say(value, when)
    const session = await this.#o.troupe.sessions.create({ kind, input: value, keepOpen: true }, { follow: true })
    this.prompt.tell(paint('dim', `session ${session.id}`, process.stderr))
    if (session.warning) this.prompt.tell(`troupe: ${safe(session.warning)}`)
    this.#now = this.#conversation(session)
  }

  /** `known`: its workers as they are, if it is not new. */
  #conversation(session: Session, known?: readonly WorkerReport[]): Conversation {
    const view = new PromptView(this.prompt)
    const follower = new Follower(session, view, undefined, known === undefined ? 'beginning' : 'now')
    if (known !== undefined) view.fill(known, follower.roster, Date.now())
    return new Conversation({
      troupe: this.#o.troupe,
      session,
      prompt: this.prompt,
      view,
      follower,
      known: known?.find(({ id }) => id === session.rootId),
      onChange: () => this.#ask(),
      print: (result) => printResult(session.id, result, {}),
    })
  }

  async #pick(kind: string): Promise<void> {
    const kinds = this.#o.kinds().map((one) => one.kind)
    if (!kinds.includes(kind)) {
      this.prompt.tell(
        `troupe: there is no kind "${safe(kind)}"; ${safe(this.#kindsText())}.${didYouMean(kind, kinds)}`,
      )
      return
    }
    await this.#close()
    this.#picked = kind
  }

  #kindsText(): string {
    const kinds = this.#o.kinds().map(({ kind }) => kind)
    return kinds.length === 0 ? 'no kind runs now' : `there are: ${kinds.join(', ')}`
  }

  async #new(text: string): Promise<void> {
    await this.#close()
    if (text !== '') await this.#say(text, undefined)
  }

  /** Turns away from a session. The session goes on. */
  async #close(): Promise<void> {
    await this.#now?.[Symbol.asyncDispose]()
    this.#now = undefined
    this.prompt.status = () => []
  }

  async #list(): Promise<void> {
    this.#listed = await this.#o.troupe.sessions.list({ limit: sessionsShown })
    if (this.#listed.length === 0) this.prompt.tell('There are no sessions yet.')
    this.prompt.tell(...tableLines(this.#listed, this.#columns(Date.now()), pageOf(process.stderr)))
  }

  #columns(now: number): Column<ListedSession>[] {
    return [
      { header: '', value: (session) => this.#listed.indexOf(session) + 1, align: 'right' },
      { header: 'name', value: ({ name, kind }) => nameAndKind(name, kind), shrinksTo: 8 },
      { header: 'state', value: ({ state, paused }) => (state === 'active' && paused !== null ? 'paused' : state) },
      { header: 'age', value: ({ createdAt }) => createdAt && formatDuration(now - createdAt), align: 'right' },
      { header: 'workers', value: ({ workers }) => workers, align: 'right' },
      { header: 'asks', value: ({ openAsks }) => (openAsks === 0 ? '' : openAsks), align: 'right' },
      { header: 'id', value: ({ id }) => id },
    ]
  }

  async #open(which: string): Promise<void> {
    if (/^\d{1,3}$/.test(which) && this.#listed.length === 0)
      this.#listed = await this.#o.troupe.sessions.list({ limit: sessionsShown })
    const id = /^\d{1,3}$/.test(which) ? this.#listed[Number(which) - 1]?.id : which
    if (id === undefined || id === '') {
      this.prompt.tell('troupe: name a number of /sessions, or the id of a session')
      return
    }
    const session = this.#o.troupe.sessions.get(id)
    const { session: facts, workers } = await session.report()
    await this.#close()
    this.#picked = facts.kind
    this.#now = this.#conversation(session, workers)
    const root = workers.find((worker) => worker.id === session.rootId)
    const runs = root === undefined ? '' : `, ${count(endedRuns(root), 'run')} so far`
    this.prompt.tell(paint('dim', `session ${id}: ${safe(facts.kind)}, ${facts.state}${runs}`, process.stderr))
    if (facts.mode === 'job') this.prompt.tell('troupe: it is a job: it takes no message after its result')
  }

  #cancel(): void {
    const now = this.#now
    if (now === undefined || !now.isBusy) return
    this.prompt.tell('troupe: cancelling this run')
    cancelRunOf(now.session).catch((thrown: unknown) =>
      this.prompt.tell(`troupe: the run could not be cancelled: ${safe(toComplaint(thrown).message)}`),
    )
  }

  #promptText(): string {
    return this.#now?.ask.promptText ?? `${safe(this.#kind ?? 'kind?')}> `
  }

  #ask(): void {
    const text = this.#promptText()
    this.prompt.text = paint('cyan', text, process.stderr)
  }

  #completions(line: string): readonly string[] {
    const kinds = this.#o.kinds().map(({ kind }) => kind)
    const words = [...ownWords, ...typedWords, ['/help', ''], ['/quit', '']].map(
      ([typed = '']) => typed.split(' ')[0] ?? '',
    )
    if (line.startsWith('/kind ')) return kinds.map((kind) => `/kind ${kind}`).filter((one) => one.startsWith(line))
    if (line.startsWith('/')) return words.filter((word) => word.startsWith(line))
    return this.#kind === undefined ? kinds.filter((kind) => kind.startsWith(line)) : []
  }
}

const keysText: TypedWords = [
  ['Esc', 'cancels the run in progress'],
  ['Alt+Enter', 'like /steer'],
  ['/quit, Ctrl+C', 'ends everything; sessions stay open'],
]
const moreText = 'While a run goes on, a message waits for its end. One that begins with a slash is typed with two.'
