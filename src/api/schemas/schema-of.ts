/**
 * Duty: tie a schema to the type of the library that it describes.
 * SCHEMA-OF-1 The compiler refuses a schema that says more or less than its type: so the OpenAPI document tells what the library gives.
 */
import type { z } from 'zod'
import { named } from './components.ts'

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false

/** The lists of schemas may be changed, those of the library may not. */
type Frozen<Value> = Value extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
    : Value

/** Call it with the type, then with the name in the OpenAPI document and the schema. A schema that differs from the type needs a fourth argument. */
export function schemaOf<Type>() {
  return <Schema extends z.ZodType>(
    name: string,
    schema: Schema,
    ..._differs: Same<Frozen<z.output<Schema>>, Frozen<Type>> extends true ? [] : [never]
  ): Schema => named(name, schema)
}
