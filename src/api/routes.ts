/** Duty: the list of all routes. A route that is not here does not exist. */
import type { Route } from './route.ts'
import { autoscale, listPools } from './routes/pools.ts'
import { healthz, openapi, readyz } from './routes/server.ts'
import { cancelSession, createSession, listSessions, sessionResult, showSession } from './routes/sessions.ts'
import { followSession } from './routes/streams.ts'
import { giveTicket } from './routes/tickets.ts'
import { metrics, usage } from './routes/usage.ts'

export const routes: readonly Route[] = [
  healthz,
  readyz,
  openapi,
  metrics,
  usage,
  giveTicket,
  listSessions,
  createSession,
  showSession,
  sessionResult,
  cancelSession,
  followSession,
  listPools,
  autoscale,
]
