/** A client that connects, as it would for its purpose, and is closed again. */
import { connectInternal } from '../../../src/client/client.ts'
import type { Purpose } from '../../../src/client/fleet/partitions.ts'
import { newNamespace } from '../../support/namespace.ts'

export async function connectTo(
  redisUrl: string,
  more: { namespace?: string; partitions?: number; deadlineMs?: number; purpose?: Purpose } = {},
) {
  const client = await connectInternal({ redisUrl, namespace: newNamespace(), deadlineMs: 2_000, ...more })
  await client.close()
}
