/** Duty: schemas that many others have in common: ids, times, pages. */
import { z } from 'zod'
import { preview } from '../../core/check/preview.ts'
import { nameRule } from '../../core/definition/worker-name.ts'
import { isKind, kindRule } from '../../core/ids.ts'

const uuid = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[78][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$/
const idOf = (what: string) => z.string().regex(uuid, `must be the id of ${what}`)

export const sessionId = idOf('a session')
export const workerId = idOf('a worker')
export const askId = idOf('an ask')
export const webhookId = idOf('a webhook')
export const letterId = z.string().regex(/^\d{1,19}-\d{1,19}$/, 'must be the id of a dead letter, like 1700000000000-0')
export const kind = z
  .string()
  .max(64)
  .refine(isKind, { error: ({ input }) => `${preview(input)} is no kind: ${kindRule}` })
export const name = z
  .string()
  .min(1)
  .max(64)
  .refine((text) => nameRule.fits(text), { error: `must be ${nameRule.expects}` })
export const sessionParams = z.strictObject({ id: sessionId })
export const workerParams = z.strictObject({ id: workerId })

/** A time, in ms since 1970. */
export const time = z.number()
export const maybeTime = time.nullable()
export const reason = z.string().max(4_096)
/** A number in a query. */
export const count = (most: number) => z.coerce.number().int().min(1).max(most)
export const position = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
export const yesOrNo = z.enum(['true', 'false'])
export const away = z
  .array(z.int())
  .describe('Partitions of a cluster that are away: their servers do not answer, and the list lacks what is in them.')
/** Any JSON value. */
export const json = z.unknown()
export const jsonObject = z.record(z.string(), z.unknown())
