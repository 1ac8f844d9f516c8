/**
 * Duty: the form in which a model gives a tool its arguments. Providers take the schema of an object only: any other is shown as
 * `{ arguments: … }`.
 * IF1 Made once for each tool. IF2 Objects are shown closed unless the author made them loose.
 */
import { z } from 'zod'
import type { Tool } from '../../core/definition/define-tool.ts'
import { ConfigError } from '../../core/errors.ts'

type JsonSchema = Record<string, unknown>

export interface InputForm {
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<JsonSchema>
  /** The tool's own schema is no object: it stands under `arguments`. */
  readonly wrapped: boolean
  /** The tool's own schema is a string. */
  readonly isText: boolean
}

const forms = new WeakMap<Tool, InputForm>()

/** Longer patterns beside a format say nothing that the format does not, and some providers refuse them. */
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
    // Made anew around the value: references within it count from the root.
    const inputSchema = toJsonSchema(z.object({ arguments: schema }))
    return { inputSchema, wrapped: true, isText: own.type === 'string' }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(
      `tool "${tool.name}": its input schema cannot be shown to a model (${reason}). Use what JSON can hold.`,
      { cause },
    )
  }
}

function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', override: simplify }) as JsonSchema
  return rest
}

function simplify({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }): void {
  const { format, pattern, propertyNames } = jsonSchema
  if (zodSchema._zod.def.type === 'object') jsonSchema.additionalProperties ??= false
  if (format !== undefined && typeof pattern === 'string' && pattern.length > patternCharsMax) delete jsonSchema.pattern
  // That names are strings goes without saying, and not every provider knows the word.
  if (JSON.stringify(propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
}
