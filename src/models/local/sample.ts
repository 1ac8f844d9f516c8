/** Duty: the simplest value that a JSON Schema describes, for a model that invents nothing. */
import { isObject } from '../../core/check/is-object.ts'
import type { Json } from '../../core/history/chat/chat-message.ts'

type Schema = Readonly<Record<string, unknown>>

/** A schema may refer to itself. Deeper values are null. */
const depthMax = 8

/** It has the required fields only, and the shortest lists. A check that no JSON Schema holds may still refuse it. */
export function sampleOf(schema: Schema): Json {
  return sample(schema, schema, 0)
}

function sample(schema: unknown, root: Schema, depth: number): Json {
  if (!isObject(schema) || depth > depthMax) return null
  if ('const' in schema) return schema.const as Json
  if ('default' in schema) return schema.default as Json
  if (typeof schema.$ref === 'string') return sample(referred(schema.$ref, root), root, depth + 1)
  const [first] = [schema.enum, schema.anyOf, schema.oneOf].find(Array.isArray) ?? []
  if (first !== undefined) return Array.isArray(schema.enum) ? (first as Json) : sample(first, root, depth + 1)
  if (Array.isArray(schema.allOf))
    return Object.assign({}, ...schema.allOf.map((part) => sample(part, root, depth + 1))) as Json
  return ofType(schema, root, depth)
}

function ofType(schema: Schema, root: Schema, depth: number): Json {
  const type: unknown = Array.isArray(schema.type) ? schema.type[0] : schema.type
  const number = (name: string, otherwise: number) => (typeof schema[name] === 'number' ? schema[name] : otherwise)
  switch (type) {
    case 'object': {
      const { properties, required } = schema
      const names = Array.isArray(required) ? (required as string[]) : []
      const fieldOf = (name: string) => (isObject(properties) ? properties[name] : undefined)
      return Object.fromEntries(names.map((name) => [name, sample(fieldOf(name), root, depth + 1)]))
    }
    case 'array':
      return Array.from({ length: number('minItems', 0) }, () => sample(schema.items, root, depth + 1))
    case 'string':
      return 'x'.repeat(number('minLength', 0))
    case 'integer':
    case 'number':
      return Math.max(number('minimum', 0), number('exclusiveMinimum', -1) + 1)
    case 'boolean':
      return false
    default:
      return null
  }
}

/** References are paths from the root: `#/$defs/node`. */
function referred(path: string, root: Schema): unknown {
  return path
    .split('/')
    .slice(1)
    .reduce<unknown>((part, name) => (isObject(part) ? part[name] : undefined), root)
}
