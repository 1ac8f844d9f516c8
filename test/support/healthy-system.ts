/** Facts about a system in which all is well. A test of findings changes the one fact that it is about. */
import type { Health } from '../../src/client/health/health.ts'

export const liveNode = {
  id: 'n',
  lastSeenMs: 100,
  slots: 50,
  pools: ['default'],
  kinds: ['echo'],
  pid: 7,
  host: 'here',
}

export const healthySystem: Health = {
  redis: {
    version: '8.6.3',
    evictionPolicy: 'noeviction',
    usedBytes: 1_048_576,
    maxBytes: 0,
    appendOnly: true,
    clockSkewMs: 3,
    role: 'master',
    refusal: null,
    access: { user: 'default', hasPassword: true, mayLoadFunctions: false },
    info: { aof_last_write_status: 'ok', aof_last_bgrewrite_status: 'ok', rdb_last_bgsave_status: 'ok' },
  },
  nodes: [liveNode],
  kinds: [],
  pools: [],
  unhosted: [],
  aside: [],
  stranded: [],
  wrongEntries: [],
  submitted: 0,
  submitIsPaused: false,
  submitPrefix: '{troupe.0}:q',
  misplaced: [],
  pausedWakeups: [],
  paused: null,
  pausedSessions: [],
  running: 0,
  expiredLeases: 0,
  expiredWorkers: [],
  stalledNodes: [],
  timers: 0,
  cancelling: 0,
  deadLetters: 0,
  settled: 0,
}
