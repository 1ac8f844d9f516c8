/** The entry `troupe/api`: the HTTP API and the page in a process of your own. It alone loads fastify. */
export { type Api, type StartApiOptions, startApi } from './api.ts'
export type { Ceiling } from './guard/ceiling.ts'
export type { Right } from './guard/rights.ts'
export type { TokenEntry } from './guard/tokens.ts'
