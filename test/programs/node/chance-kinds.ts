/**
 * Kinds whose turns do by chance whatever a turn may do. What they choose follows from no seed: neither does the moment at which their node dies. Once
 * the ledger says `calm`, they do nothing more and end their runs. One node in two has definitions that are a little newer.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { defineWorker, type Self, type WorkerDefinition } from '../../../src/core/definition/define-worker.ts'
import type { Message } from '../../../src/core/worker/message/message.ts'
import { type ScriptedReply, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { chanceGates } from './chance-gates.ts'
import { chanceHooks } from './chance-hooks.ts'
import { below, chance, one, reply, toolsOf } from './chance-tools.ts'
import type { NodeOrder } from './node-order.ts'

/** `calm` of the ledger lasts, so it is looked for until it is there. */
function calmOf(ledger: string): () => boolean {
  let isCalm = false
  return () => {
    isCalm ||= readFileSync(ledger, 'utf8').includes('"what":"calm"')
    return isCalm
  }
}

async function work(message: Message<unknown>, self: Self<unknown, unknown>): Promise<void> {
  const canEnd = self.openChildren === 0
  if (chance(0.3)) await self.step(`step ${below(3)}`, () => pause(below(40), below(100)))
  const what = Math.random()
  if (what < 0.05) throw new Error('The handler breaks.')
  if (what < 0.08) return self.fail('The handler gives up.')
  if (what < 0.3 && self.depth < 3) return spawnSome(self)
  if (what < 0.4) return self.after(below(300), null)
  if (what < 0.45) {
    const expiry = { expiresMs: 200 + below(2_000), onExpiry: chance(0.5) ? 'fail' : { late: true } }
    self.ask('Go on?', chance(0.5) ? expiry : {})
    return
  }
  const { to } = (message.kind === 'input' ? message.value : {}) as { to?: string }
  if (what < 0.55 && to !== undefined) self.send(to, { n: 1 }, { when: one(['queue', 'steer', 'interrupt']) })
  if (what < 0.65) await pause(below(150))
  if (canEnd || chance(0.3)) self.reply({ n: below(10) })
}

function spawnSome(self: Self<unknown, unknown>): void {
  for (let left = 1 + below(3); left > 0; left--) {
    const kind = one(['chain', 'limited', 'crowd', 'clerk'])
    const input = kind === 'clerk' ? 'Please help.' : { n: below(10) }
    self.spawn(kind, input, chance(0.2) ? { detached: true } : {})
  }
}

export function chanceKinds(order: Pick<NodeOrder, 'name' | 'ledger'>): Record<string, WorkerDefinition> {
  const isCalm = calmOf(order.ledger)
  const isNewer = chance(0.5)
  const { look, put, pay, wire, both, finish } = toolsOf(order)
  const newer = isNewer ? [both] : []
  const model = (id: string, calm: string, other: () => ScriptedReply | undefined = () => undefined) =>
    scriptedModel(`chance/${id}`, async (request) => {
      await pause(below(60))
      return isCalm() ? say(calm) : (other() ?? reply(request))
    })
  const receive = async (message: Message<unknown>, self: Self<unknown, unknown>): Promise<void> => {
    if (!isCalm()) return work(message, self)
    if (self.openChildren === 0) self.reply('calm')
  }
  const shape = () => (chance(0.5) ? say('{"n":1}') : chance(0.3) ? say('no JSON') : undefined)
  const spawns = ['chain', 'limited', 'crowd', 'clerk', 'shaped', 'hasty', 'hooked', 'merges', 'desk']
  const instructions = 'You do whatever comes to mind.'
  return {
    clerk: defineWorker({
      instructions,
      model: model('clerk', 'done'),
      tools: [look, put, pay, wire, ...newer],
      spawns,
      asks: true,
      compaction: { window: 3_000 },
    }),
    shaped: defineWorker({
      instructions,
      model: model('shaped', '{"n":0}', shape),
      output: z.object({ n: z.number() }),
      tools: [look, put],
      compaction: { window: 2_000 },
    }),
    hasty: defineWorker({
      instructions,
      model: model('hasty', 'done'),
      tools: [look, put, pay, wire],
      spawns,
      asks: true,
      childrenAtOnce: 2,
      retry: { most: 1, baseMs: 50 },
      pool: 'other',
    }),
    reader: defineWorker({
      instructions,
      model: model('reader', 'done'),
      tools: [look, wire],
      onUnknown: 'tell',
      concurrency: { most: 3 },
    }),
    hooked: defineWorker({
      instructions,
      model: model('hooked', 'done'),
      tools: [look, put, wire, both, ...(isNewer ? [] : [finish])],
      mayTerminate: true,
      limits: { iterations: 6, toolCalls: 12, toolFailures: 4 },
      ...chanceHooks(isCalm),
    }),
    merges: defineWorker({
      instructions,
      model: model('merges', 'done'),
      tools: [look, pay, finish],
      mergeInput: true,
      compaction: { window: 4_000 },
    }),
    desk: defineWorker({
      instructions,
      model: model('desk', 'done'),
      tools: [look, wire],
      spawns,
      background: true,
      retries: 1,
    }),
    chain: defineWorker<unknown>({ initial: null, receive, onCancel: () => pause(below(30)) }),
    gathers: defineWorker<unknown>({ initial: null, receive, await: 'all', childrenAtOnce: 2, retries: 1 }),
    ...chanceGates(order, isCalm),
  }
}
