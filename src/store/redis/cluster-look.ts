/**
 * Duty: look at every server of a cluster, for doctor: what each says of itself and of the cluster, and which partitions it has.
 * CLUSTER-LOOK-1 A server that does not answer, or refuses the login, is listed like the others, and holds up the look for no longer than `answerMsMax`.
 */
import type { Place } from '../keys.ts'
import type { Connections } from './connections.ts'
import { nameOf, type Range, type Server, slotsIn } from './connector/cluster-map.ts'
import { guarded } from './guarded.ts'
import type { Redis } from './redis.ts'
import { infoFields, readServerFacts, type ServerFacts } from './server-facts.ts'
import { slotCount, slotOf } from './slot.ts'
import { messageOf } from './store-error.ts'

export interface ClusterServer {
  /** The host and port by which the servers know each other. */
  readonly server: string
  readonly isReplica: boolean
  /** The partitions of the namespace whose keys the server has. */
  readonly partitions: readonly number[]
  /** For a primary: how many healthy replicas follow it. */
  readonly replicas: number
  /** Null if the server did not answer. */
  readonly facts: ServerFacts | null
  /** Why the server could not be asked; null if it answered. */
  readonly unread: string | null
  /** Whether the server takes the cluster for whole; null if it did not answer. */
  readonly seesWhole: boolean | null
  /** Whether the server refuses commands for its own slots, too, while any slot is without a server; null if it does not say. */
  readonly needsAllSlots: boolean | null
}

export interface ClusterFacts {
  readonly servers: readonly ClusterServer[]
  /** Slots that no server has. */
  readonly slotsMissing: number
}

const answerMsMax = 3_000

/** Null for a Redis that is no cluster. */
export async function lookAtCluster(connections: Connections, places: readonly Place[]): Promise<ClusterFacts | null> {
  const ranges = await guarded('asking who has the slots', () => connections.ranges(), answerMsMax)
  if (ranges === null) return null
  const primaries = [...Map.groupBy(ranges, nameOf).values()]
  const looks = primaries.flatMap((own) => {
    const [first] = own as [Range]
    const here = places.filter(({ keys }) => own.some((range) => isIn(range, slotOf(keys.tag))))
    const replicas = new Map(own.flatMap((range) => range.replicas.map((one) => [nameOf(one), one])))
    const of = { isReplica: false, partitions: here.map(({ partition }) => partition), replicas: replicas.size }
    const primary = look(connections, first, of, here[0]?.keys.rights ?? null)
    const followers = [...replicas.values()].map((one) =>
      look(connections, one, { ...of, isReplica: true, replicas: 0 }, null),
    )
    return [primary, ...followers]
  })
  return { servers: await Promise.all(looks), slotsMissing: slotCount - slotsIn({ ranges }) }
}

type Known = Pick<ClusterServer, 'isReplica' | 'partitions' | 'replicas'>

async function look(
  connections: Connections,
  server: Server,
  known: Known,
  tried: string | null,
): Promise<ClusterServer> {
  const named = { server: nameOf(server), ...known }
  const asking = () => connections.asked(server, readAll(tried), answerMsMax)
  try {
    return { ...named, unread: null, ...(await guarded('asking a server of the cluster', asking, 2 * answerMsMax)) }
  } catch (error) {
    return { ...named, unread: messageOf(error), facts: null, seesWhole: null, needsAllSlots: null }
  }
}

function readAll(tried: string | null) {
  return async (redis: Redis) => ({
    facts: await readServerFacts(redis, tried),
    seesWhole: infoFields(await redis.cluster('INFO')).cluster_state === 'ok',
    needsAllSlots: await readCoverage(redis),
  })
}

/** Users may be without the right to read the configuration. */
async function readCoverage(redis: Redis): Promise<boolean | null> {
  const [, value] = (await redis.config('GET', 'cluster-require-full-coverage').catch(() => [])) as string[]
  return value === undefined ? null : value === 'yes'
}

function isIn({ from, to }: Range, slot: number): boolean {
  return slot >= from && slot <= to
}
