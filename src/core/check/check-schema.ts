/** Duty: is this a schema that can be used? Without zod itself: a module that defines tools need not load it. */
import { isObject } from './is-object.ts'
import { shown } from './shown.ts'

/** What is wrong with a field that is to hold a schema, or null. Zod 3 has other schemas under the same names. */
export function schemaProblem(field: string, schema: unknown): string | null {
  if (schema === undefined) return null
  if (!isObject(schema) || typeof schema.safeParse !== 'function')
    return `${field} must be a zod schema, like z.object({ n: z.number() }), not ${shown(schema)}.`
  return '_zod' in schema ? null : `${field} is a schema of zod 3, and must be one of zod 4: npm install zod@4`
}
