/** A node that hosts the kinds of chance-kinds.ts, in a process of its own, to be killed, frozen and told to stop. SIGTERM drains it. */
import { startInternalNode } from '../../../src/compose.ts'
import { stderrLogger } from '../../../src/log.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { keepCompiled } from '../../support/package/shared-env.ts'
import { chanceKinds } from './chance-kinds.ts'
import { releaseOf } from './chance-release.ts'
import type { NodeNews, NodeOrder } from './node-order.ts'

const order = JSON.parse(process.argv[2] ?? '{}') as NodeOrder
process.on('disconnect', () => process.exit(1))
const maker = new KindMaker(openModels({ env: {} }))
const kinds = chanceKinds(order)
const node = await startInternalNode({
  redisUrl: order.redisUrl,
  namespace: order.namespace,
  concurrency: order.concurrency,
  policy: order.policy,
  webhooks: { allowPrivateAddresses: true, retryMs: 200 },
  kinds: Object.entries(order.isRelease ? releaseOf(kinds) : kinds).map(([name, definition]) =>
    maker.make(name, definition),
  ),
  logger: stderrLogger('warn'),
})
process.once('SIGTERM', () => void node.stop().then(() => process.exit(0)))
process.send?.({ ready: node.id } satisfies NodeNews)
keepCompiled()
