/** Duty: the schema of a bar of a timeline. */
import { z } from 'zod'
import { barKinds, type TimelineBar } from '../../client/session/timeline.ts'
import { maybeTime, time } from './parts.ts'
import { schemaOf } from './schema-of.ts'

export const bar = schemaOf<TimelineBar>()(
  'TimelineBar',
  z.object({
    workerId: z.string(),
    kind: z.enum(barKinds),
    from: time,
    to: maybeTime.describe('Null: it goes on.'),
    label: z.string().nullable(),
  }),
)
