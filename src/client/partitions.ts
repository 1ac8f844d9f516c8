/** Duty: find out how many partitions a namespace has; a new namespace is set up only for a caller that will create sessions. */
import { defaultNamespace } from '../config.ts'
import type { Connections } from '../store/redis/connections.ts'
import { checkNamespace, lookAtNamespace } from '../store/set-up/namespace.ts'

/**
 * What a client is for. create: it creates sessions, and sets up a namespace that is new, with a number of partitions.
 * change: it changes sessions that exist. look: it writes nothing, and its Redis user needs no right to write.
 */
export type Purpose = 'create' | 'change' | 'look'

export async function partitionsOf(
  connections: Connections,
  {
    namespace = defaultNamespace,
    partitions,
    purpose = 'create',
  }: { readonly namespace?: string | undefined; readonly partitions?: number | undefined; readonly purpose?: Purpose },
  deadlineMs: number,
): Promise<number> {
  if (purpose === 'create') return checkNamespace(connections, namespace, partitions, deadlineMs)
  return lookAtNamespace(connections, namespace, partitions, { deadlineMs, willWrite: purpose === 'change' })
}
