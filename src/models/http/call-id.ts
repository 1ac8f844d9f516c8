/**
 * Duty: the id of a tool call as a provider sees it.
 * CALL-ID-1 The model that gave an id gets it back unchanged, whatever it holds.
 * CALL-ID-2 Any other model gets an id of 1 to 40 letters, digits, `_` and `-`, which all providers accept. The same id leads to the same
 *           id in each request, and two ids never to one.
 */
import { createHash } from 'node:crypto'
import type { ToolCallBlock } from '../../core/history/chat/chat-message.ts'
import { wellFormed } from './well-formed.ts'

/** OpenAI's chat completions take 40 characters, the others 64 or more. */
const portable = /^[A-Za-z0-9_-]{1,40}$/
/** How much of an id stays readable before the hash of the whole. */
const readableChars = 17

/** `isOwn`: the request goes to the model that made the call. */
export function sentCallId(
  { toolCallId, givenId }: Pick<ToolCallBlock, 'toolCallId' | 'givenId'>,
  isOwn: boolean,
): string {
  return isOwn ? wellFormed(givenId ?? toolCallId) : portableId(toolCallId)
}

function portableId(id: string): string {
  if (portable.test(id)) return id
  const hash = createHash('sha256').update(id).digest('base64url').slice(0, 22)
  return `${id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, readableChars)}_${hash}`
}
