/** All rows, in the order of docs/faults.md. */
import type { Row } from './row.ts'
import { namedTestRows } from './rows/named-tests.ts'
import { blockedRow } from './rows/node/blocked.ts'
import { clockRow } from './rows/node/clocks.ts'
import { crashPointRow, lostWakeupRow } from './rows/node/crash-points.ts'
import { busyRow, darkRow, recoveryRow, renewRow, rollingRow } from './rows/node/deaths.ts'
import { unheededStopRow } from './rows/node/unheeded-stops.ts'
import { versionRow } from './rows/node/versions.ts'
import { zombieRow } from './rows/node/zombie.ts'
import { clusterRow } from './rows/redis/cluster.ts'
import { clusterStormRow } from './rows/redis/cluster-storm.ts'
import { failOverRow } from './rows/redis/fail-over.ts'
import { flushStormRow } from './rows/redis/flush-storm.ts'
import { loadingRow } from './rows/redis/loading.ts'
import { lostReplyRow } from './rows/redis/lost-replies.ts'
import { networkRow } from './rows/redis/network.ts'
import { redisDownRow, redisKillRow } from './rows/redis/redis-restart.ts'
import { everySecondRow, fullRow, readOnlyRow, tornFileRow } from './rows/redis/redis-trouble.ts'
import { sabotageRow } from './rows/sabotage.ts'
import { soakRow } from './rows/soak.ts'
import { stormRow } from './rows/storm.ts'
import { cancelStormRow } from './rows/work/cancels.ts'
import { bombRow, herdRow, parkedRow, sweepStormRow } from './rows/work/crowds.ts'
import { failingProviderRow } from './rows/work/failing-provider.ts'
import { floodRow } from './rows/work/floods.ts'
import { followerRow } from './rows/work/followers.ts'
import { gateRow } from './rows/work/gates.ts'
import { longHistoryRow } from './rows/work/long-histories.ts'
import { duplicateRow, lateMessageRow, sizeRow } from './rows/work/messages.ts'
import { packingRow } from './rows/work/packing.ts'
import { peopleRow } from './rows/work/people.ts'
import { cancelRow, childFailureRow, poisonRow } from './rows/work/trees.ts'

const all: readonly Row[] = [
  stormRow,
  recoveryRow,
  crashPointRow,
  darkRow,
  lostWakeupRow,
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
  flushStormRow,
  peopleRow,
  failingProviderRow,
  ...namedTestRows,
]

export const rows: readonly Row[] = all.toSorted((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }))
