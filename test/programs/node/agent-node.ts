/** A node that hosts the agents of agent-kinds.ts, in a process of its own, to be killed. It ends with the process that started it. */
import { startInternalNode } from '../../../src/compose.ts'
import { stderrLogger } from '../../../src/log.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { keepCompiled } from '../../support/package/shared-env.ts'
import { agentKinds } from './agent-kinds.ts'
import type { NodeNews, NodeOrder } from './node-order.ts'

const order = JSON.parse(process.argv[2] ?? '{}') as NodeOrder
process.on('disconnect', () => process.exit(1))

const env = { OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${order.providerUrl}/${process.pid}/v1` }
const maker = new KindMaker(openModels({ default: 'openai-chat/fake', env }))
const node = await startInternalNode({
  redisUrl: order.redisUrl,
  namespace: order.namespace,
  concurrency: order.concurrency,
  policy: order.policy,
  kinds: Object.entries(agentKinds(order)).map(([name, definition]) => maker.make(name, definition)),
  logger: stderrLogger('warn'),
})
process.send?.({ ready: node.id } satisfies NodeNews)
keepCompiled()
