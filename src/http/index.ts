/** The entry `troupe/http`: the HTTP API from any JavaScript program, a browser too. It needs no Redis, and nothing else of this package. */
export { connectHttp, type HttpOptions, HttpProblem, type HttpTroupe } from './client.ts'
export { type FollowOptions, followEvents, type StreamedEntry, type StreamedEvent } from './follow.ts'
export type { components, paths } from './paths.ts'
