/**
 * Duty: turn the messages with which a session begins, and what its agent is set to, into entries of its history.
 * GIVEN-1 These entries belong to run 0 and epoch 0, because no run of the worker and no claim wrote them (ENTRY-3).
 * GIVEN-2 They are in order (PAIRED-1 to PAIRED-3). No call is open when the first run begins.
 */
import { preview } from '../check/preview.ts'
import { InputError, LimitError } from '../errors.ts'
import { isDeeperThan } from '../json.ts'
import { policy } from '../policy.ts'
import type { Configuration } from '../worker/message/configuration.ts'
import type { ChatMessage } from './chat/chat-message.ts'
import { encodeEntry, entryVersion } from './entry.ts'
import { messageProblem } from './foreign-format.ts'
import { pairedMessages } from './paired.ts'

/** Arguments of a call and results may be as deep as any value. Their message holds them some levels further in. */
const depthMax = policy.jsonDepthMax + 8

/** The entries as they are stored. Throws an InputError or a LimitError that names the message. */
export function encodeGivenHistory(given: unknown): readonly string[] {
  if (!Array.isArray(given))
    throw new InputError(`history of sessions.create must be a list of messages, not ${preview(given)}.`)
  const most = policy.givenMessagesMax
  if (given.length > most)
    throw new LimitError(
      'message_too_big',
      `the history has ${given.length} messages; the limit is ${most}. Leave out the oldest.`,
    )
  for (const [index, message] of given.entries()) checkMessage(message, index)
  const entries = pairedMessages(given as readonly ChatMessage[]).messages.map((message) =>
    encodeEntry({ ...message, v: entryVersion, run: 0, epoch: 0 }),
  )
  checkSizes(entries)
  return entries
}

/** The entry that says what an agent is set to from the beginning. No order asked for this configuration. `at`: the time of the message before it. */
export function givenConfiguration(configured: Configuration, at: number): string {
  return encodeEntry({ type: 'configured', message: '', ...configured, v: entryVersion, at, run: 0, epoch: 0 })
}

function checkMessage(message: unknown, index: number): void {
  if (isDeeperThan(message, depthMax))
    throw new InputError(`history: message ${index} is nested more than ${depthMax} deep.`)
  const problem = messageProblem(message, index)
  if (problem !== null) throw new InputError(`history: ${problem}`)
}

function checkSizes(entries: readonly string[]): void {
  let all = 0
  for (const [position, entry] of entries.entries()) {
    const bytes = Buffer.byteLength(entry)
    all += bytes
    if (bytes > policy.messageBytesMax)
      throw new LimitError(
        'message_too_big',
        `message ${position} of the history has ${bytes} bytes of JSON; the limit is ${policy.messageBytesMax}. Shorten it, or leave it out.`,
      )
  }
  if (all > policy.givenHistoryBytesMax)
    throw new LimitError(
      'message_too_big',
      `the history has ${all} bytes of JSON; the limit is ${policy.givenHistoryBytesMax}. Leave out the oldest messages.`,
    )
}
