/**
 * Duty: give a branch the blobs that its messages name: long results and media are kept by session.
 * BRANCH-BLOBS-1 A branch whose messages name blobs gets its first input when it has them all.
 */
import type { ChatMessage } from '../../../core/history/chat/chat-message.ts'
import { blobIdOf, isMediaPart } from '../../../core/history/chat/media.ts'
import type { BlobStore } from '../../../core/ports/ports.ts'

/** The ids of all blobs that these messages name, each once. */
export function blobsNamedIn(messages: readonly ChatMessage[]): readonly string[] {
  const ids = messages.flatMap((message): (string | null | undefined)[] => {
    if (message.type === 'toolResult') return [message.blob?.id]
    if (message.type !== 'user') return []
    return message.content.map((block) => (isMediaPart(block) ? blobIdOf(block) : null))
  })
  return [...new Set(ids.filter((id) => id != null))]
}

export interface BlobPlace {
  readonly sessionId: string
  readonly blobs: BlobStore
}

/** A blob that is gone, or does not fit any more, is left out: whoever reads the message is told. */
export async function copyBlobs(ids: readonly string[], from: BlobPlace, to: BlobPlace): Promise<void> {
  for (const id of ids) {
    const ref = await from.blobs.find(from.sessionId, id)
    const bytes = ref && (await from.blobs.read(from.sessionId, id))
    if (ref && bytes) await to.blobs.keep(to.sessionId, { mediaType: ref.mediaType, bytes })
  }
}
