/**
 * A node in a process of its own, to be killed, frozen and told to stop: it hosts the kinds of fault-kinds.ts. SIGTERM drains it; a second SIGTERM
 * releases its turns at once. It ends with the process that started it.
 */
import { startInternalNode } from '../../../src/compose.ts'
import { stderrLogger } from '../../../src/log.ts'
import { handlerKind } from '../../../src/runtime/node/kind-maker.ts'
import { keepCompiled } from '../../support/package/shared-env.ts'
import { faultKinds } from './fault-kinds.ts'
import { postBeforeEnds } from './late-message.ts'
import type { NodeNews, NodeOrder } from './node-order.ts'

const order = JSON.parse(process.argv[2] ?? '{}') as NodeOrder
const tell = (news: NodeNews) => process.send?.(news)

process.on('disconnect', () => process.exit(1))
if (order.lateMessages) await postBeforeEnds(order, order.lateMessages)
const node = await startInternalNode({
  redisUrl: order.redisUrl,
  namespace: order.namespace,
  concurrency: order.concurrency,
  policy: order.policy,
  kinds: Object.entries(faultKinds(order)).map(([name, definition]) => handlerKind(name, definition)),
  logger: stderrLogger('warn'),
})
let signals = 0
process.on('SIGTERM', () => {
  signals++
  const stopped = node.stop({ force: signals > 1 })
  tell({ draining: true })
  if (signals === 1) void stopped.then(() => process.exit(0))
})
tell({ ready: node.id })
keepCompiled()
