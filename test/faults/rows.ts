/** All rows, in the order of docs/faults.md. */
import type { Row } from './row.ts'
import { blockedRow } from './rows/blocked.ts'
import { cancelStormRow } from './rows/cancels.ts'
import { clockRow } from './rows/clocks.ts'
import { clusterRow } from './rows/cluster.ts'
import { clusterStormRow } from './rows/cluster-storm.ts'
import { crashPointRow, ringRow } from './rows/crash-points.ts'
import { bombRow, herdRow, parkedRow, sweepStormRow } from './rows/crowds.ts'
import { busyRow, darkRow, recoveryRow, renewRow, rollingRow } from './rows/deaths.ts'
import { failOverRow } from './rows/fail-over.ts'
import { cancelRow, childFailureRow, poisonRow } from './rows/families.ts'
import { floodRow } from './rows/floods.ts'
import { followerRow } from './rows/followers.ts'
import { gateRow } from './rows/gates.ts'
import { loadingRow } from './rows/loading.ts'
import { longHistoryRow } from './rows/long-histories.ts'
import { lostReplyRow } from './rows/lost-replies.ts'
import { duplicateRow, lateMessageRow, sizeRow } from './rows/messages.ts'
import { namedTestRows } from './rows/named-tests.ts'
import { networkRow } from './rows/network.ts'
import { packingRow } from './rows/packing.ts'
import { redisDownRow, redisKillRow } from './rows/redis-restart.ts'
import { everySecondRow, fullRow, readOnlyRow, tornFileRow } from './rows/redis-trouble.ts'
import { sabotageRow } from './rows/sabotage.ts'
import { soakRow } from './rows/soak.ts'
import { stormRow } from './rows/storm.ts'
import { unheededStopRow } from './rows/unheeded-stops.ts'
import { versionRow } from './rows/versions.ts'
import { zombieRow } from './rows/zombie.ts'

const all: readonly Row[] = [
  stormRow,
  recoveryRow,
  crashPointRow,
  darkRow,
  ringRow,
  lateMessageRow,
  duplicateRow,
  sabotageRow,
  blockedRow,
  zombieRow,
  busyRow,
  rollingRow,
  unheededStopRow,
  lostReplyRow,
  redisDownRow,
  redisKillRow,
  everySecondRow,
  tornFileRow,
  readOnlyRow,
  fullRow,
  loadingRow,
  failOverRow,
  clusterRow,
  networkRow,
  clockRow,
  renewRow,
  poisonRow,
  parkedRow,
  sizeRow,
  longHistoryRow,
  floodRow,
  herdRow,
  bombRow,
  childFailureRow,
  cancelRow,
  cancelStormRow,
  packingRow,
  followerRow,
  gateRow,
  versionRow,
  sweepStormRow,
  soakRow,
  clusterStormRow,
  ...namedTestRows,
]

export const rows: readonly Row[] = all.toSorted((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }))
