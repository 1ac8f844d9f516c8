/**
 * Duty: put the bytes of media that are blobs of the session into a prompt, just before it is sent.
 * BLOB-MEDIA-1 A blob that is not there becomes a note: it never ends a conversation.
 * BLOB-MEDIA-2 Only images that a request may hold are read: the newest (`policy.imagesMax`).
 */
import type { PromptMessage } from '../../../core/definition/model.ts'
import type { UserBlock } from '../../../core/history/chat/chat-message.ts'
import { blobIdOf, isBlob, mediaLabel, withHeldBytes } from '../../../core/history/chat/media.ts'
import { policy } from '../../../core/policy.ts'
import type { Turn } from '../../turn/turn.ts'

/** The prompt with these bytes. Parts without blobs are the same objects. */
export async function withBlobs(messages: readonly PromptMessage[], turn: Turn): Promise<readonly PromptMessage[]> {
  const read: PromptMessage[] = []
  let images = 0
  // From the newest: older images beyond the bound are not read.
  for (const message of messages.toReversed()) {
    if (message.role !== 'user') {
      read.push(message)
      continue
    }
    const content: UserBlock[] = []
    for (const block of message.content.toReversed()) {
      if (block.type === 'image') images += 1
      content.push(isBlob(block) ? await readBlock(block, turn, images > policy.imagesMax) : block)
    }
    read.push(message.content.some(isBlob) ? { role: 'user', content: content.toReversed() } : message)
  }
  return read.toReversed()
}

async function readBlock(block: UserBlock, { assignment, host }: Turn, isOver: boolean): Promise<UserBlock> {
  const id = block.type === 'text' ? null : blobIdOf(block)
  if (block.type === 'text' || id === null) return block
  const note = (why: string): UserBlock => ({ type: 'text', text: `(${mediaLabel(block)} left out: ${why})` })
  if (isOver) return note(`a request holds at most ${policy.imagesMax} images, and there are newer ones`)
  const bytes = await host.blobs.read(assignment.sessionId, id)
  return bytes === null ? note('its session does not have its bytes') : withHeldBytes(block, bytes)
}
