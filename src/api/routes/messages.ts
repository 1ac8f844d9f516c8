/** Duty: what all routes that send a message to a worker have in common. */
import { z } from 'zod'
import type { Worker } from '../../client/worker.ts'
import { sendTimes } from '../../core/worker/message/steer.ts'
import { Answer } from '../route.ts'
import { json } from '../schemas/parts.ts'

export const inputBody = z.strictObject({
  input: json.describe('Any JSON value; an agent takes a text, or a list of content blocks.'),
  when: z
    .enum(sendTimes)
    .optional()
    .describe('When a busy worker receives it: in its next run, in the run in progress, or at once. Default: queue.'),
})

export async function sendTo(
  worker: Worker,
  { body, idempotencyKey }: { readonly body: z.output<typeof inputBody>; readonly idempotencyKey: string | undefined },
): Promise<Answer> {
  return new Answer(202, await worker.send(body.input, { when: body.when, idempotencyKey }))
}
