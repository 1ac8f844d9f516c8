/** Duty: a mail that is received: the JSON of its message as the history will hold it, and since when the code of its worker has it. */
import type { EventNote } from '../../core/event/event.ts'
import type { RunPosition } from '../../core/ports/ports.ts'
import { receiveResult } from '../../core/worker/child-result.ts'
import type { Mail, Message } from '../../core/worker/message/message.ts'

/** A mail with its message as it will be recorded (HANDLER-4). */
export interface RecordedMail extends Mail {
  readonly json: string
  /** By `performance.now()`. */
  readonly since: number
}

export function toRecord(mail: Mail): RecordedMail {
  return { ...mail, json: jsonOf(mail.message), since: performance.now() }
}

/**
 * Does not throw. The sender may have a larger stack than this thread, so a message may be too deep to be written here; if that threw, every
 * turn that receives the message would break.
 */
function jsonOf(message: Message): string {
  try {
    return JSON.stringify(message)
  } catch {
    return JSON.stringify({ ...message, value: '(a value that is nested too deeply to be written)' })
  }
}

/** Names a mail by its lane and its position there. */
export function nameOfMail(mail: Mail): string {
  return `${mail.lane}:${mail.position}`
}

/** Shorter work is not written: no timeline shows it, and most runs of handlers are shorter. */
const workMsMin = 10

/** For how long its code has had the message, for the event that tells of it. */
export function workOn({ since }: RecordedMail): { ms?: number } {
  const ms = Math.round(performance.now() - since)
  return ms < workMsMin ? {} : { ms }
}

/** `isOpen`: its run had begun before this message. */
export function receivedNote(mail: RecordedMail, isOpen: boolean): EventNote {
  const work = workOn(mail)
  if (!isOpen) return work.ms === undefined ? ['run.started'] : ['run.started', work]
  const { message } = mail
  const details = {
    kind: message.kind,
    ...(message.kind === 'result' ? { from: message.from } : {}),
    ...(message.kind === 'input' && message.when ? { when: message.when } : {}),
    ...work,
  }
  return ['message.consumed', details]
}

/** The calls whose results are still to come once this message is received. */
export function pendingAfter(mail: Mail | null, { pendingCalls }: RunPosition): readonly number[] {
  if (mail?.message.kind !== 'result') return pendingCalls
  const verdict = receiveResult(pendingCalls, mail.message)
  switch (verdict.kind) {
    case 'report':
      return verdict.pendingCalls
    case 'ignore':
      return pendingCalls
  }
}

/** What the run still waits for beside this message. */
export function openBeside(mail: Mail, position: RunPosition): { openChildren: number; signalsOpen: number } {
  const signalsOpen = position.signalsOpen - (mail.lane === 'signals' ? 1 : 0)
  return { openChildren: pendingAfter(mail, position).length, signalsOpen }
}
