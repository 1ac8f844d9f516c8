/**
 * Duty: answer a call with a stream, from the first byte to its end.
 * ANSWER-STREAM-1 A stream that fails is cut off, and the log says why: its caller must not take that for the end of what it follows.
 */
import { replyHeaders } from '../guard/headers.ts'
import type { Call } from '../route.ts'
import { SseWriter } from './sse.ts'

/** An error in the call must be reported before: from here on the reply is a success. */
export async function answerWithStream(
  { caller, reply, request, server, signal }: Call,
  write: (writer: SseWriter) => Promise<void>,
): Promise<void> {
  using _ = server.streams.open(caller, reply.raw)
  reply.hijack()
  using writer = new SseWriter(reply.raw, replyHeaders, server.stopping)
  try {
    await write(writer)
  } catch (error) {
    if (signal.aborted) return
    reply.raw.destroy()
    const [path] = request.url.split('?', 1)
    server.log.warn('a stream failed and was cut off', { path, caller: caller.name, error: String(error) })
  }
}
