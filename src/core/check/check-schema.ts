/** Duty: check that a field holds a usable zod schema, without loading zod: a module that defines tools need not load it. */
import { isObject } from './is-object.ts'
import { preview } from './preview.ts'

/** Says what is wrong with a field that must hold a schema, or returns null. Schemas of zod 3 look similar but do not work here. */
export function schemaProblem(field: string, schema: unknown): string | null {
  if (schema === undefined) return null
  if (!isObject(schema) || typeof schema.safeParse !== 'function')
    return `${field} must be a zod schema, like z.object({ n: z.number() }), not ${preview(schema)}.`
  return '_zod' in schema ? null : `${field} is a schema of zod 3, but must be one of zod 4: npm install zod@4`
}
