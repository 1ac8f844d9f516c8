/** Duty: check the parts of a request against the schemas of its route, for fastify. */
import type { FastifySchemaCompiler } from 'fastify'
import type { z } from 'zod'

/** What is wrong with a part of a request. Fastify adds which part it is. */
export class WrongRequest extends Error {
  readonly issues: readonly z.core.$ZodIssue[]
  readonly statusCode = 400
  validationContext?: string
  constructor(issues: readonly z.core.$ZodIssue[]) {
    super('the request does not fit its schema')
    this.issues = issues
  }
}

export const checkRequestPart: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  return (value) => {
    const empty = httpPart === 'querystring' ? emptyIn(value) : []
    if (empty.length > 0) return { error: new WrongRequest(empty) }
    // For a request without a body, fastify passes null.
    const read = schema.safeParse(value ?? undefined)
    return read.success ? { value: read.data } : { error: new WrongRequest(read.error.issues) }
  }
}

/** A number that is empty would be read as 0: `?after=$last` of a script whose variable is not set. */
function emptyIn(query: object): z.core.$ZodIssue[] {
  const names = Object.entries(query).flatMap(([name, value]) => (value === '' ? [name] : []))
  return names.map((name) => ({ code: 'custom', path: [name], message: 'is empty: give it a value, or leave it out' }))
}
