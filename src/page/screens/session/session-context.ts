/** Duty: what the parts of the session screen share: the report, the follower, the session's id. */
import { createContext } from 'react'
import type { Report } from '../../../client/report.ts'
import { LiveSession } from './live-session.ts'

export interface SessionValue {
  readonly id: string
  readonly report: Report | undefined
  readonly live: LiveSession
}

export const SessionContext = createContext<SessionValue>({ id: '', report: undefined, live: new LiveSession('') })
