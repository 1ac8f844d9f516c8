/** Duty: the settings with which the server, without its port, is made. */
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { KnownHosts } from '../guard/origin.ts'
import type { Tokens } from '../guard/tokens.ts'
import type { Route } from '../route.ts'
import type { Server } from '../server.ts'

export interface AppSettings {
  readonly server: Server
  readonly hosts: KnownHosts
  /** Null: callers on this machine need no token. */
  readonly tokens: Tokens | null
  readonly log: WorkerLog
  /** How many requests one caller may send within ten seconds. */
  readonly rate: number
  /** The folder of the page; null for none. */
  readonly page: string | null
  readonly routes?: readonly Route[]
}
