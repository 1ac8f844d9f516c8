/**
 * Duty: decide the form in which a model writes the arguments of a tool. Providers accept only the schema of an object, so any other
 * schema is wrapped: `{ arguments: … }`.
 * INPUT-FORM-1 The form is made once for each tool.
 * INPUT-FORM-2 An object's schema forbids further properties, unless the author made it loose.
 */
import { z } from 'zod'
import type { Tool } from '../../core/definition/define-tool.ts'
import { ConfigError } from '../../core/errors.ts'

type JsonSchema = Record<string, unknown>

export interface InputForm {
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<JsonSchema>
  /** The tool's schema is not an object. It stands under `arguments`. */
  readonly wrapped: boolean
  /** The tool's schema is a string. */
  readonly isText: boolean
}

const forms = new WeakMap<Tool, InputForm>()

/** A longer pattern beside a format adds nothing to the format, and some providers refuse it. */
const patternCharsMax = 64

/** Throws a ConfigError that names the tool. */
export function inputFormOf(tool: Tool): InputForm {
  const known = forms.get(tool)
  if (known) return known
  const form = makeForm(tool)
  forms.set(tool, form)
  return form
}

function makeForm(tool: Tool): InputForm {
  const schema: z.ZodType | undefined = tool.input
  if (schema === undefined) {
    const inputSchema = { type: 'object', properties: {}, additionalProperties: true }
    return { inputSchema, wrapped: false, isText: false }
  }
  try {
    const own = toJsonSchema(schema)
    if (own.type === 'object') return { inputSchema: own, wrapped: false, isText: false }
    // Converted again with the wrapper around it, because references in a JSON Schema are paths from its root.
    const inputSchema = toJsonSchema(z.object({ arguments: schema }))
    return { inputSchema, wrapped: true, isText: own.type === 'string' }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(
      `tool "${tool.name}": its input schema has no JSON Schema for a model (${reason}). Use only types that JSON can hold.`,
      { cause },
    )
  }
}

/** Throws if JSON Schema has no form of a part of it. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', override: simplify }) as JsonSchema
  return rest
}

function simplify({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }): void {
  const { format, pattern, propertyNames } = jsonSchema
  if (zodSchema._zod.def.type === 'object') jsonSchema.additionalProperties ??= false
  if (format !== undefined && typeof pattern === 'string' && pattern.length > patternCharsMax) delete jsonSchema.pattern
  // Property names are always strings, and some providers do not know this keyword.
  if (JSON.stringify(propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
}
