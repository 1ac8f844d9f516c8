/**
 * A client in a process of its own, to be killed: creates a conversation and sends it messages, all under idempotency keys. Another client does
 * again, under the same keys, what its death leaves open.
 */
import { connect } from '../../src/client/client.ts'
import type { NodeNews, NodeOrder } from './node/node-order.ts'

const { redisUrl, namespace } = JSON.parse(process.argv[2] ?? '{}') as NodeOrder
process.on('disconnect', () => process.exit(1))
const client = await connect({ redisUrl, namespace })
process.send?.({ ready: 'client' } satisfies NodeNews)
for (let number = 1; number <= 3; number++) {
  const session = await client.sessions.create({
    kind: 'tally',
    input: 1,
    keepOpen: true,
    idempotencyKey: `session ${number}`,
  })
  for (let message = 2; message <= 4; message++)
    await session.root.send(message, { idempotencyKey: `message ${message}` })
}
await client.close()
process.disconnect()
