/**
 * Compares replies with the OpenAPI document: also a field that it does not name is wrong, so that the document tells all.
 */
import { z } from 'zod'
import { openApiDocument } from '../../../src/api/openapi.ts'
import { routes } from '../../../src/api/routes.ts'

type Json = Record<string, unknown>

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly responses: Readonly<
              Record<string, { readonly content: Readonly<Record<string, { readonly schema: Json }>> }>
            >
          }
        >
      >
    >
  >
  readonly components: { readonly schemas: Json }
}

const document = closed(openApiDocument(routes)) as Document
const $defs = JSON.parse(
  JSON.stringify(document.components.schemas).replaceAll('#/components/schemas/', '#/$defs/'),
) as Json

/** Objects with named fields have no others. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closed(one)]))
  const isPlain =
    copy.type === 'object' && typeof copy.properties === 'object' && copy.additionalProperties === undefined
  return isPlain ? { ...copy, additionalProperties: false } : copy
}

const schemas = new Map<string, z.ZodType>()

/** Why the reply does not fit its route; null if it fits. `path`: without a query. */
export function contractProblem(method: string, path: string, status: number, body: unknown): string | null {
  const pattern =
    Object.keys(document.paths).find((one) => one === path) ??
    Object.keys(document.paths).find((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
  const operation = pattern === undefined ? undefined : document.paths[pattern]?.[method.toLowerCase()]
  if (operation === undefined) return `the document has no ${method} ${path}`
  const named = operation.responses[status] === undefined ? 'default' : String(status)
  const key = `${method} ${pattern} ${named}`
  let schema = schemas.get(key)
  if (schema === undefined) {
    const [content] = Object.values(operation.responses[named]?.content ?? {})
    const text = JSON.stringify(content?.schema ?? {}).replaceAll('#/components/schemas/', '#/$defs/')
    schema = z.fromJSONSchema({ ...JSON.parse(text), $defs })
    schemas.set(key, schema)
  }
  const read = schema.safeParse(body)
  return read.success ? null : `${key}: ${z.prettifyError(read.error)}`
}
