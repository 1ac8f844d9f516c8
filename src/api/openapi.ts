/**
 * Duty: make the OpenAPI 3.1 document of the routes.
 * OPENAPI-1 It says nothing that a route does not say: schemas, rights, headers and statuses are those by which requests are checked and answered.
 */
import { z } from 'zod'
import type { Route } from './route.ts'
import { components } from './schemas/components.ts'
import { problemSchema } from './schemas/problem.ts'

type JsonObject = Record<string, unknown>

const unsafe = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]

/** A schema as JSON Schema. Schemas with a name become references, and what they refer to is added to `named`. */
function schemaJson(schema: z.ZodType, named: JsonObject): JsonObject {
  // Within another schema, this schema too becomes a reference if it has a name.
  const json = z.toJSONSchema(z.object({ it: schema }), {
    metadata: components,
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const description = z.globalRegistry.get(zodSchema)?.description
      if (description !== undefined) jsonSchema.description = description
      // Bounds that hold for any whole number say nothing.
      if (unsafe.includes(jsonSchema.minimum as number)) delete jsonSchema.minimum
      if (unsafe.includes(jsonSchema.maximum as number)) delete jsonSchema.maximum
      delete jsonSchema.id
    },
  })
  for (const [name, definition] of Object.entries(json.$defs ?? {})) named[name] ??= moved(definition)
  return moved(json.properties?.it) as JsonObject
}

/** Makes references lead to the components of the document. */
function moved(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/'))
}

const statusTexts: Readonly<Record<string, string>> = {
  200: 'Done',
  201: 'Created',
  202: 'Accepted',
  204: 'Done',
}

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
})

function parametersOf(
  { params, query, method, changes = method !== 'GET', raw, prefers }: Route,
  named: JsonObject,
): unknown[] {
  const of = (schema: z.ZodType | undefined, place: 'path' | 'query') => {
    if (schema === undefined) return []
    const { properties = {}, required = [] } = schemaJson(schema, named) as {
      readonly properties?: Record<string, JsonObject>
      readonly required?: readonly string[]
    }
    return Object.entries(properties).map(([name, { description, ...rest }]) => ({
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      schema: rest,
    }))
  }
  return [
    ...of(params, 'path'),
    ...of(query, 'query'),
    ...(changes ? [header('Idempotency-Key', 'The same request under the same key gives the same answer.')] : []),
    ...(prefers ? [header('Prefer', '`wait=30`: wait so many seconds for the result, at most 60.')] : []),
    ...(raw === 'text/event-stream' ? [header('Last-Event-ID', 'Resumes behind this event.')] : []),
  ]
}

function operationOf(one: Route, named: JsonObject): JsonObject {
  const { id, tag, summary, description, body, replies, right, raw = 'application/json' } = one
  const content = (type: string, schema: z.ZodType) => ({ content: { [type]: { schema: schemaJson(schema, named) } } })
  const responses = Object.entries(replies).map(([status, schema]) => [
    status,
    { description: statusTexts[status] ?? 'An answer', ...content(raw, schema) },
  ])
  const parameters = parametersOf(one, named)
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: !body.safeParse(undefined).success, ...content('application/json', body) },
    }),
    responses: {
      ...Object.fromEntries(responses),
      default: { description: 'An error', ...content('application/problem+json', problemSchema) },
    },
    'x-right': right,
    ...(right === 'open' && { security: [] }),
  }
}

export function openApiDocument(routes: readonly Route[]): JsonObject {
  const named: JsonObject = {}
  const paths: Record<string, JsonObject> = {}
  for (const one of routes) {
    const path = one.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [one.method.toLowerCase()]: operationOf(one, named) }
  }
  const schemas = Object.fromEntries(Object.entries(named).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return {
    openapi: '3.1.0',
    info: {
      title: 'troupe',
      version: '1',
      description:
        'Sessions, workers and their approvals over HTTP. Errors are application/problem+json with the codes of the library.',
    },
    security: [{ token: [] }],
    paths,
    components: { schemas, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
  }
}
