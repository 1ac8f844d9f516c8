/**
 * Duty: a conversation at the terminal: a message, its answer, the next message.
 * TALK-1 Each message that was accepted gets its answer before the next one is read.
 * TALK-2 The person decides how it ends: the end of the input closes the conversation, and an interrupt at the prompt leaves it open. The
 *        command says which of the two happened. An error closes nothing, and the command says that, too.
 * TALK-3 Ctrl+C or Esc during an answer cancels that answer, and the conversation goes on. Without a person at a terminal an
 *        interrupt cancels the answer and leaves the conversation open.
 * TALK-4 A person at a terminal may type commands (chat-commands.ts). In a pipe each line is a message, whatever it begins with.
 */
import type { Troupe } from '../../client/client.ts'
import type { Session } from '../../client/session/session.ts'
import type { RunResult } from '../../core/history/entry.ts'
import { exitCodes, toComplaint } from '../exit-code.ts'
import { type InputFlags, parseInput } from '../input.ts'
import type { RawFlag } from '../options.ts'
import type { Interrupt } from '../terminal/interrupt.ts'
import { MessagePrompt } from '../terminal/message-prompt.ts'
import { type JsonFlag, pageOf, safe } from '../terminal/output.ts'
import type { SessionView } from '../terminal/session-view.ts'
import { AskHere } from './ask/ask-here.ts'
import { chatted } from './chat-commands.ts'
import { cancelRunOf, type Follower, resultOrCancel } from './follow.ts'
import { printResult } from './print-result.ts'

interface Talk {
  /** Creates the session with its first message. */
  readonly begin: (first: unknown) => Promise<{ readonly session: Session; readonly follower: Follower }>
  /** The first message, if the command line names one. */
  readonly first: unknown
  readonly flags: InputFlags & RawFlag & JsonFlag
  readonly interrupt: Interrupt
  readonly view: SessionView
  readonly troupe: Troupe
}

/** Returns the exit code: that of the last answer, if the conversation was closed. */
export async function converse({ begin, first, flags, interrupt, view, troupe }: Talk): Promise<number> {
  using prompt = new MessagePrompt()
  if (prompt.isShown)
    view.tell(
      'troupe: each line is a message; Ctrl+C or Esc stops an answer; Ctrl+D closes the conversation, Ctrl+C here leaves it open; /help shows commands',
    )
  const next = (session?: Session) => nextMessage(prompt, flags, interrupt, view, session)
  let message = first
  if (message === undefined) {
    const typed = await next()
    if (typed.kind === 'end') return exitCodes.ok
    if (typed.kind === 'interrupt') return interrupt.exitCode ?? exitCodes.interrupted
    message = typed.value
  }
  const { session, follower } = await begin(message)
  await using _following = follower
  try {
    return await talk(session, follower, next, { canType: prompt.isShown, flags, interrupt, view, troupe })
  } catch (thrown) {
    view.end()
    const { id } = session
    view.tell(
      `troupe: an error ends this command, and session ${id} was not closed. Look at it with: troupe session show ${id}; close it with: troupe session close ${id}`,
    )
    throw thrown
  }
}

async function talk(
  session: Session,
  follower: Follower,
  next: (session: Session) => Promise<Typed>,
  { canType, flags, interrupt, view, troupe }: Omit<Talk, 'begin' | 'first'> & { readonly canType: boolean },
): Promise<number> {
  for (let run: number | undefined; ; ) {
    const result = await answerOf(session, run, { canType, flags, interrupt, view, troupe, follower })
    if (result) await follower.catchUpWithRuns(result.run)
    view.end()
    if (result) printResult(session.id, result, flags)
    if (result === undefined || interrupt.exitCode !== undefined) return left(session, interrupt, view)
    const typed = await next(session)
    if (typed.kind === 'interrupt') return left(session, interrupt, view)
    if (typed.kind === 'end') {
      await session.close()
      view.tell(`troupe: the conversation is closed: session ${session.id}`)
      return result.status === 'completed' ? exitCodes.ok : exitCodes.failed
    }
    view.resume()
    await session.root.send(typed.value)
    run = result.run + 1
  }
}

/** TALK-3. */
async function answerOf(
  session: Session,
  run: number | undefined,
  {
    canType,
    flags,
    interrupt,
    view,
    troupe,
    follower,
  }: Omit<Talk, 'begin' | 'first'> & {
    readonly canType: boolean
    readonly follower: Follower
  },
): Promise<RunResult | undefined> {
  if (!canType) return resultOrCancel(session, interrupt, view, run)
  using here = new AskHere({ troupe, session, view, interrupt, isJson: flags.json === true })
  follower.onEvent = here.note
  using _stop = interrupt.stopFirst(() => {
    view.tell('troupe: cancelling this answer (again to leave)')
    cancelRunOf(session).catch((thrown: unknown) =>
      view.tell(`troupe: the answer could not be cancelled: ${safe(toComplaint(thrown).message)}`),
    )
  })
  return await resultOrCancel(session, interrupt, view, run)
}

type Typed =
  | { readonly kind: 'message'; readonly value: unknown }
  | { readonly kind: 'end' }
  | { readonly kind: 'interrupt' }

/** A person who mistypes JSON is asked again. In a pipe it is an error, because nobody is there to type it again. */
async function nextMessage(
  prompt: MessagePrompt,
  { as }: InputFlags,
  { signal }: Interrupt,
  view: SessionView,
  session: Session | undefined,
): Promise<Typed> {
  for (;;) {
    const typed = await prompt.next(signal)
    if (typed.kind !== 'line') return typed
    const said = prompt.isShown
      ? await chatted(typed.text, session, { page: pageOf(process.stderr), signal })
      : ({ kind: 'message', text: typed.text } as const)
    if (said.kind === 'quit') return { kind: 'end' }
    if (said.kind === 'said') {
      for (const line of said.lines) view.tell(line)
      continue
    }
    try {
      return { kind: 'message', value: parseInput(said.text, as, 'the message') }
    } catch (thrown) {
      if (!prompt.isShown) throw thrown
      view.tell(`troupe: ${safe(toComplaint(thrown).message)}`)
    }
  }
}

function left({ id }: Session, { exitCode, isHangUp }: Interrupt, view: SessionView): number {
  if (exitCode === undefined || isHangUp)
    view.tell(
      `troupe: session ${id} stays open. Send to it with: troupe send ${id} "…"; close it with: troupe session close ${id}`,
    )
  return exitCode ?? exitCodes.interrupted
}
