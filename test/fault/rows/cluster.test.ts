/** F21: a Redis Cluster while its slots move, and while it loses a primary. */
import { clusterRow } from '../../faults/rows/redis/cluster.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(clusterRow)
