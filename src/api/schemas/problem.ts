/** Duty: the schema of an error. */
import { z } from 'zod'
import { named } from './components.ts'

export const problemSchema = named(
  'Problem',
  z.object({
    type: z.string(),
    status: z.int(),
    title: z.string(),
    code: z.string().describe('A code of the library, or one of HTTP: docs/api.md.'),
    detail: z.string().describe('What happened, to which id, and what to do.'),
    errors: z.array(z.object({ pointer: z.string(), message: z.string() })).optional(),
    id: z.string().optional().describe('The id of a fault: the log of the server has the same one.'),
  }),
)
