/**
 * Duty: the names of schemas in the OpenAPI document.
 * COMPONENTS-1 They are kept apart from zod's own list of names: a worker file in the same process may give its schemas any name.
 */
import { z } from 'zod'

export const components = z.registry<{ readonly id: string }>()

/** The schema, with a name in the document. */
export function named<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  components.add(schema, { id: name })
  return schema
}
