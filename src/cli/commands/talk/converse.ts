/**
 * Duty: a conversation whose messages are lines of a pipe, or whose reader is a program (--json): a message, its answer, the next message.
 * A person at a terminal talks in talk/live-talk.ts.
 * TALK-1 Each message that was accepted gets its answer before the next one is read. Each line is a message, whatever it begins with.
 * TALK-2 The end of the input closes the conversation. An interrupt cancels the answer in progress and leaves the conversation open. The
 *        command says which of the two happened. An error closes nothing, and the command says that, too.
 */
import type { Session } from '../../../client/session/session.ts'
import { exitCodes } from '../../exit-code.ts'
import { type InputFlags, parseInput } from '../../input.ts'
import type { RawFlag } from '../../options.ts'
import type { Interrupt } from '../../terminal/interrupt.ts'
import { MessagePrompt } from '../../terminal/message-prompt.ts'
import type { JsonFlag } from '../../terminal/output.ts'
import type { SessionView } from '../../terminal/session-view.ts'
import { type Follower, resultOrCancel } from './follow.ts'
import { printResult } from './print-result.ts'

interface Talk {
  /** Creates the session with its first message. */
  readonly begin: (first: unknown) => Promise<{ readonly session: Session; readonly follower: Follower }>
  /** The first message, if the command line names one. */
  readonly first: unknown
  readonly flags: InputFlags & RawFlag & JsonFlag
  readonly interrupt: Interrupt
  readonly view: SessionView
}

/** Returns the exit code: that of the last answer, if the conversation was closed. */
export async function converse({ begin, first, flags, interrupt, view }: Talk): Promise<number> {
  using prompt = new MessagePrompt()
  const next = () => nextMessage(prompt, flags, interrupt)
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
    return await talk(session, follower, next, { flags, interrupt, view })
  } catch (thrown) {
    view.end()
    view.tell(notClosedText(session))
    throw thrown
  }
}

async function talk(
  session: Session,
  follower: Follower,
  next: () => Promise<Typed>,
  { flags, interrupt, view }: Pick<Talk, 'flags' | 'interrupt' | 'view'>,
): Promise<number> {
  for (let run: number | undefined; ; ) {
    const result = await resultOrCancel(session, interrupt, view, run)
    if (result) await follower.catchUpWithRuns(result.run)
    view.end()
    if (result) printResult(session.id, result, flags)
    if (result === undefined || interrupt.exitCode !== undefined) return leftOpen(session, interrupt, view)
    const typed = await next()
    if (typed.kind === 'interrupt') return leftOpen(session, interrupt, view)
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

type Typed =
  | { readonly kind: 'message'; readonly value: unknown }
  | { readonly kind: 'end' }
  | { readonly kind: 'interrupt' }

async function nextMessage(prompt: MessagePrompt, { as }: InputFlags, { signal }: Interrupt): Promise<Typed> {
  const typed = await prompt.next(signal)
  return typed.kind === 'line' ? { kind: 'message', value: parseInput(typed.text, as, 'the message') } : typed
}

export function notClosedText({ id }: Session): string {
  return `troupe: an error ends this command, and session ${id} was not closed. Look at it with: troupe session show ${id}; close it with: troupe session close ${id}`
}

/** Says that the conversation stays open, and returns the exit code. */
export function leftOpen({ id }: Session, { exitCode, isHangUp }: Interrupt, view: Pick<SessionView, 'tell'>): number {
  if (exitCode === undefined || isHangUp)
    view.tell(
      `troupe: session ${id} stays open. Send to it with: troupe send ${id} "…"; close it with: troupe session close ${id}`,
    )
  return exitCode ?? exitCodes.interrupted
}
