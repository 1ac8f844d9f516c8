/**
 * Duty: decide the form in which a model writes the arguments of a tool. Providers accept only the schema of an object, so any other
 * schema is wrapped: `{ arguments: … }`.
 * INPUT-FORM-1 The form is made once for each tool.
 * INPUT-FORM-2 An object's schema forbids further properties, unless the author made it loose.
 * INPUT-FORM-3 A schema may come from another copy of zod, of any version 4. That copy converts it, or else its own metadata is read: copies
 *              do not know each other's descriptions, and may lose each other's types.
 */
import { z } from 'zod'
import type { Tool } from '../../core/definition/tool/define-tool.ts'
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
    return { inputSchema: wrap(own, schema._zod.optin === undefined), wrapped: true, isText: own.type === 'string' }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(
      `tool "${tool.name}": its input schema has no JSON Schema for a model (${reason}). Use only types that JSON can hold.`,
      { cause },
    )
  }
}

/** Who reads the schema. A model's provider may refuse a request with a pattern that it cannot read; the answer to an ask is checked by this schema alone. */
type Reader = 'model' | 'ask'

/** Throws if JSON Schema has no form of a part of it. */
export function toJsonSchema(schema: z.ZodType, reader: Reader = 'model'): JsonSchema {
  const override = (part: Converted) => simplify(part, reader)
  const settings = { io: 'input', override } as const
  // zod 4.0 and 4.1 have no such method.
  const converted =
    typeof (schema as Partial<z.ZodType>).toJSONSchema === 'function'
      ? schema.toJSONSchema(settings)
      : z.toJSONSchema(schema, settings)
  const { $schema: _dialect, ...rest } = converted as JsonSchema
  return rest
}

/** The schema as a field of an object. References in a JSON Schema are paths from its root. */
function wrap({ $defs, ...own }: JsonSchema, isNeeded: boolean): JsonSchema {
  const moved = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(moved)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([name, value]) => [
        name,
        name === '$ref' && value === '#' ? '#/properties/arguments' : moved(value),
      ]),
    )
  }
  return {
    type: 'object',
    properties: { arguments: moved(own) },
    ...(isNeeded && { required: ['arguments'] }),
    additionalProperties: false,
    ...($defs !== undefined && { $defs: moved($defs) }),
  }
}

interface Converted {
  readonly zodSchema: z.core.$ZodTypes
  readonly jsonSchema: JsonSchema
}

function simplify({ zodSchema, jsonSchema }: Converted, reader: Reader): void {
  const { id: _id, ...described } = (zodSchema as unknown as Partial<z.ZodType>).meta?.() ?? {}
  for (const [name, value] of Object.entries(described)) jsonSchema[name] ??= value
  noteFlags(zodSchema, jsonSchema, reader)
  const { format, pattern, propertyNames } = jsonSchema
  if (zodSchema._zod.def.type === 'object') jsonSchema.additionalProperties ??= false
  if (format !== undefined && typeof pattern === 'string' && pattern.length > patternCharsMax) delete jsonSchema.pattern
  // Property names are always strings, and some providers do not know this keyword.
  if (JSON.stringify(propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
}

/** A pattern of JSON Schema has no flags, and zod leaves them out: a right value would be refused. It joins several patterns with `allOf`. */
function noteFlags(zodSchema: z.core.$ZodTypes, jsonSchema: JsonSchema, reader: Reader): void {
  const { def } = zodSchema._zod
  const patterns = [def, ...(def.checks ?? []).map((check) => check._zod.def)].flatMap(
    (part) => (part as { readonly pattern?: RegExp }).pattern ?? [],
  )
  if (patterns.length === 0) return
  const noted = (part: JsonSchema): JsonSchema => {
    const pattern = patterns.find(({ source }) => source === part.pattern)
    return pattern === undefined ? part : { ...part, pattern: textOf(pattern, reader) }
  }
  const { pattern } = noted(jsonSchema)
  if (pattern === undefined) delete jsonSchema.pattern
  else jsonSchema.pattern = pattern
  if (!Array.isArray(jsonSchema.allOf)) return
  const parts = (jsonSchema.allOf as JsonSchema[]).map(noted).filter((part) => part.pattern !== undefined)
  // Without a type, zod reads a schema of anything.
  if (parts.length > 0) jsonSchema.allOf = reader === 'ask' ? parts.map((part) => ({ type: 'string', ...part })) : parts
  else delete jsonSchema.allOf
}

/**
 * The pattern without flags; undefined where no text means the same. For an ask they become a part of it. What a model passes is checked by the schema
 * of zod in any case.
 */
function textOf({ source, flags }: RegExp, reader: Reader): string | undefined {
  const meant = flags.replace(/[dgy]/g, '')
  if (meant === '') return source
  if (reader === 'model' || meant.includes('v')) return undefined
  const others = meant.replace('u', '')
  if (others !== meant && (others.includes('i') || !meansTheSameWithoutU(source))) return undefined
  return others === '' ? source : `(?${others}:${source})`
}

/** Nothing in it stands for a character of two units, and no escape is one of the flag. */
function meansTheSameWithoutU(source: string): boolean {
  return /^[ -~]*$/.test(source) && !/\\[pPuDSW]|\[\^|\./.test(source.replaceAll('\\.', ''))
}
