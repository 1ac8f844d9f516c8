/** A node that hosts an agent whose model follows the plan of its input, in a process of its own, to be killed. */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { startInternalNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../src/core/definition/model.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { textOf } from '../../../src/core/history/chat/chat-message.ts'
import { stderrLogger } from '../../../src/log.ts'
import { call, type ScriptedReply, say, scriptedModel, together } from '../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { appendLine } from '../../support/fault/ledger.ts'
import { slowNode, sumOfPrompt, type TalkPlan } from '../../support/fault/talk.ts'
import { keepCompiled } from '../../support/package/shared-env.ts'
import type { NodeNews, NodeOrder } from './node-order.ts'

const order = JSON.parse(process.argv[2] ?? '{}') as NodeOrder
process.on('disconnect', () => process.exit(1))

const look = defineTool({
  name: 'look',
  description: 'Finds what is there.',
  effect: 'pure',
  input: z.object({ place: z.string(), ms: z.number() }),
  async run({ place, ms }, { workerId, attempt, signal }) {
    if (ms === 0) return `At ${place} there is ${'some of this and of that, '.repeat(8)}and no more.`
    appendLine(order.ledger, {
      what: 'looking',
      worker: workerId,
      run: 0,
      attempt,
      node: order.name,
      pid: process.pid,
      at: Date.now(),
    })
    if (order.name === slowNode) await pause(ms, undefined, { signal })
    return `At ${place} there is something that took long to find.`
  },
})

/** It must not look at all that was said, or the length of a conversation would be measured here. */
function reply({ messages }: ModelRequest): ScriptedReply {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const question = messages[asked]
  const plan = JSON.parse(question?.role === 'user' ? textOf(question.content) : '{}') as TalkPlan
  const rounds = messages.slice(asked).filter(({ role }) => role === 'assistant').length
  if (rounds >= plan.rounds) return say(plan.isSum ? sumOfPrompt(messages) : `That was place ${messages.length}.`)
  const calls = Array.from({ length: plan.calls }, (_, number) => {
    const place = `${messages.length}.${number}`
    return call('look', { place, ms: plan.ms ?? 0 }, `call-${place}`)
  })
  return together(...calls)
}

const talker = defineWorker({
  instructions: 'Look around.',
  model: scriptedModel('scripted/talker', reply),
  tools: [look],
})
const node = await startInternalNode({
  redisUrl: order.redisUrl,
  namespace: order.namespace,
  concurrency: order.concurrency,
  policy: order.policy,
  kinds: [new KindMaker(openModels({ env: {} })).make('talker', talker)],
  logger: stderrLogger('warn'),
})
process.send?.({ ready: node.id } satisfies NodeNews)
keepCompiled()
