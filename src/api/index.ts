/** The entry `troupe/api`: the HTTP API and the page in a process of your own. It alone loads fastify. */
import { checkNode } from '../node-version.ts'
import type { Api, StartApiOptions } from './api.ts'

/** Throws a ConfigError, or a TransientError (`store_unavailable`) when Redis cannot be reached. */
export async function startApi(options?: StartApiOptions): Promise<Api> {
  checkNode()
  return (await import('./api.ts')).startApi(options)
}

export type { Api, StartApiOptions } from './api.ts'
export type { Ceiling } from './guard/ceiling.ts'
export type { Right } from './guard/rights.ts'
export type { TokenEntry } from './guard/tokens.ts'
