/** Duty: a mail together with the JSON of its message as the history will hold it. */
import type { RunPosition } from '../../core/ports/ports.ts'
import { receiveResult } from '../../core/worker/child-result.ts'
import type { Mail, Message } from '../../core/worker/message/message.ts'

/** A mail with its message as it will be recorded (HANDLER-4). */
export interface RecordedMail extends Mail {
  readonly json: string
}

export function toRecord(mail: Mail): RecordedMail {
  return { ...mail, json: jsonOf(mail.message) }
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
