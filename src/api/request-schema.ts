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

export const checkRequestPart: FastifySchemaCompiler<z.ZodType> = ({ schema }) => {
  return (value) => {
    // For a request without a body, fastify passes null.
    const read = schema.safeParse(value ?? undefined)
    return read.success ? { value: read.data } : { error: new WrongRequest(read.error.issues) }
  }
}
