/** Duty: the routes for what starts and stops nodes: how much work each pool has, and where the partitions are. */
import { z } from 'zod'
import type { PartitionSummary, PoolSummary } from '../../client/summaries.ts'
import { isPool } from '../../core/ids.ts'
import { withAway } from '../away.ts'
import { route } from '../route.ts'
import { away } from '../schemas/parts.ts'
import { schemaOf } from '../schemas/schema-of.ts'

const tag = 'pools'

const pool = schemaOf<PoolSummary>()(
  'Pool',
  z.object({
    pool: z.string(),
    waiting: z.number().describe('Workers in its run queues.'),
    oldestMs: z.number().nullable().describe('For how long the first of them has waited.'),
    due: z.number().describe('Timers and retries of its workers that are due within a minute.'),
    busy: z.number().describe('Turns that have lasted longer than 100 ms.'),
    nodes: z.number().describe('Live nodes.'),
    slots: z.number().describe('The slots of all these nodes.'),
    expectedNodes: z.number().describe('Nodes with a slot for each that waits, is due or is busy.'),
  }),
)

const partition = schemaOf<PartitionSummary>()(
  'Partition',
  z.object({
    partition: z.number(),
    sessions: z.number().nullable().describe('Null: its server does not answer.'),
    nodes: z.number().nullable().describe('Live nodes that work in it. Null: its server does not answer.'),
    slot: z.number().nullable().describe('The hash slot in a Redis Cluster; null if there is no cluster.'),
    server: z
      .string()
      .nullable()
      .describe('The server that has the slot now, by address and port; null also if none has it.'),
  }),
)

export const listPools = route({
  id: 'listPools',
  method: 'GET',
  path: '/v1/pools',
  right: 'read',
  tag,
  summary: 'Pools, what waits in each, and how many nodes it needs',
  replies: { 200: z.object({ pools: z.array(pool), away }) },
  cli: { command: 'pool list' },
  handle: ({ troupe }) => withAway(async (onAway) => ({ pools: await troupe.pools.list({ onAway }) })),
})

export const listPartitions = route({
  id: 'listPartitions',
  method: 'GET',
  path: '/v1/partitions',
  right: 'read',
  tag,
  summary: 'Partitions, with their sessions, nodes and servers',
  replies: { 200: z.object({ partitions: z.array(partition) }) },
  cli: { command: 'partition list' },
  async handle({ troupe }) {
    return { partitions: await troupe.partitions.list() }
  },
})

export const autoscale = route({
  id: 'autoscale',
  method: 'GET',
  path: '/v1/autoscale',
  right: 'read',
  tag,
  summary: 'One pool, for an autoscaler; of a pool that nobody knows, that nothing waits',
  query: z.strictObject({ pool: z.string().refine(isPool, { error: 'must be the name of a pool' }) }),
  replies: { 200: pool },
  cli: { command: 'pool list' },
  handle: ({ troupe, query }) => troupe.pools.get(query.pool),
})
