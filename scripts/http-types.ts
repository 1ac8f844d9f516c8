/**
 * Duty: the types of the HTTP API, as `openapi-fetch` takes them, from its OpenAPI document; and the page that lists its routes.
 * HTTP-TYPES-1 A form of schema that it does not know is an error, and never `unknown` by accident.
 */
import { openApiDocument } from '../src/api/openapi.ts'
import { routes } from '../src/api/routes.ts'
import { table } from './markdown-table.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly description?: string
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content: Content }>>
}

function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) return `components['schemas']['${schema.$ref.split('/').at(-1)}']`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const several = schema.anyOf ?? schema.oneOf
  if (several !== undefined) return several.map(typeText).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => typeText({ ...schema, type })).join(' | ')
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return `(${typeText(schema.items ?? {})})[]`
    case 'object':
      return objectText(schema)
    case undefined:
      return 'unknown'
    default:
      throw new Error(`a schema of the API has a form that has no type yet: ${JSON.stringify(schema)}`)
  }
}

function objectText({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description === undefined ? '' : `/** ${schema.description} */ `
    return `${comment}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeText(schema)}`
  })
  if (typeof additionalProperties === 'object') {
    const others = typeText(additionalProperties)
    members.push(`[name: string]: ${members.length > 0 ? 'unknown' : others}`)
  }
  return `{ ${members.join('; ')} }`
}

function parametersText(parameters: readonly Parameter[]): string {
  const of = (place: Parameter['in']) => {
    const some = parameters.filter((one) => one.in === place)
    if (some.length === 0) return `${place}?: never`
    const optional = some.every(({ required }) => !required) ? '?' : ''
    const members = some.map(
      ({ name, required, schema }) => `${JSON.stringify(name)}${required ? '' : '?'}: ${typeText(schema)}`,
    )
    return `${place}${optional}: { ${members.join('; ')} }`
  }
  return `{ ${[of('path'), of('query'), of('header')].join('; ')}; cookie?: never }`
}

function contentText(content: Content): string {
  return `{ ${Object.entries(content)
    .map(([type, { schema }]) => `'${type}': ${typeText(schema)}`)
    .join('; ')} }`
}

function operationText({ parameters = [], requestBody, responses }: Operation): string {
  const body =
    requestBody === undefined
      ? 'requestBody?: never'
      : `requestBody${requestBody.required ? '' : '?'}: { content: ${contentText(requestBody.content)} }`
  const answers = Object.entries(responses).map(
    ([status, { content }]) => `${status}: { headers: { [name: string]: unknown }; content: ${contentText(content)} }`,
  )
  return `{ parameters: ${parametersText(parameters)}; ${body}; responses: { ${answers.join('; ')} } }`
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const

/** The text of `src/http/paths.ts`, before it is formatted. */
export function httpTypes(): string {
  const document = openApiDocument(routes) as unknown as {
    readonly paths: Readonly<Record<string, Partial<Record<string, Operation>>>>
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  }
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const members = methods.map((method) => {
      const operation = operations[method]
      return operation === undefined ? `${method}?: never` : `${method}: ${operationText(operation)}`
    })
    return `'${path}': { ${members.join('; ')} }`
  })
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => `${name}: ${typeText(schema)}`)
  return `// Generated from the routes of the API: run \`npm run docs\`.

export interface paths {
${paths.join('\n')}
}

export interface components {
  schemas: {
${schemas.join('\n')}
  }
}
`
}

/** The routes of the API by their tags. */
export function routeTables(): string {
  return [...Map.groupBy(routes, ({ tag }) => tag)]
    .map(([tag, some]) => {
      const rows = some.map(({ method, path, right, summary, cli }) => [
        `\`${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}\``,
        right,
        summary,
        'command' in cli ? `\`troupe ${cli.command}\`` : `– (${cli.none})`,
      ])
      return `### ${tag}\n\n${table(['route', 'right', 'does', 'command'], rows)}`
    })
    .join('\n\n')
}
