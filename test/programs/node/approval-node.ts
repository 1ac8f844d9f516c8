/** A node whose agents ask for the approval of a payment, in a process of its own, to be killed. It ends with the process that started it. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { startInternalNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool, type ToolContext } from '../../../src/core/definition/tool/define-tool.ts'
import { stderrLogger } from '../../../src/log.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { appendLine, type LedgerLine } from '../../support/fault/ledger.ts'
import { keepCompiled } from '../../support/package/shared-env.ts'
import type { NodeNews, NodeOrder } from './node-order.ts'

const order = JSON.parse(process.argv[2] ?? '{}') as NodeOrder
process.on('disconnect', () => process.exit(1))

function write(
  { workerId: worker, attempt }: ToolContext,
  note: { readonly amount: number; readonly key: string },
): void {
  const { name: node, ledger } = order
  appendLine(ledger, { what: 'paid', worker, run: 1, attempt, node, pid: process.pid, at: Date.now(), note })
}

function isPaid(key: string): boolean {
  const lines = readFileSync(order.ledger, 'utf8').split('\n').slice(0, -1)
  return lines.some((line) => ((JSON.parse(line) as LedgerLine).note as { key: string }).key === key)
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effect: 'once',
  input: z.object({ amount: z.number().positive() }),
  run({ amount }, context) {
    write(context, { amount, key: context.idempotencyKey })
    return `paid ${amount}`
  },
  reconcile: async (_input, { idempotencyKey }) =>
    isPaid(idempotencyKey) ? { done: true, output: 'it was paid' } : { done: false },
})

/** It makes this call once, by the request alone: another process may go on. */
const calling = (name: string, input: object) =>
  scriptedModel('test/rule', ({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? say('Done.') : call(name, input as never, `${name}-1`),
  )
const spawning = (kind: string) =>
  defineWorker({
    instructions: 'Delegate.',
    spawns: [kind],
    model: calling('spawn_workers', { tasks: [{ kind, input: 'go' }] }),
  })

const maker = new KindMaker(openModels({ env: {} }))
const kinds = {
  top: spawning('mid'),
  mid: spawning('leaf'),
  leaf: defineWorker({ instructions: 'Pay.', tools: [pay], model: calling('pay', { amount: 100 }) }),
}
const node = await startInternalNode({
  redisUrl: order.redisUrl,
  namespace: order.namespace,
  concurrency: order.concurrency,
  policy: order.policy,
  kinds: Object.entries(kinds).map(([name, definition]) => maker.make(name, definition)),
  logger: stderrLogger('warn'),
})
process.send?.({ ready: node.id } satisfies NodeNews)
keepCompiled()
