/**
 * Kinds whose turns do by chance whatever a turn may do. What they choose follows from no seed: neither does the moment at which their node dies. Once
 * the ledger says `calm`, they do nothing more and end their runs.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { defineWorker, type Self, type WorkerDefinition } from '../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../src/core/definition/model.ts'
import { defineTool, type ToolContext } from '../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../src/core/errors.ts'
import { type Json, textOf } from '../../../src/core/history/chat/chat-message.ts'
import type { Message } from '../../../src/core/worker/message/message.ts'
import { call, type ScriptedReply, say, scriptedModel, together } from '../../../src/models/local/scripted-model.ts'
import { appendLine } from '../../support/fault/ledger.ts'
import type { NodeOrder } from './node-order.ts'

/** The kinds with which people begin sessions. */
export const chanceAgents: readonly string[] = ['clerk', 'shaped', 'hasty', 'reader']
export const chanceHandlers: readonly string[] = ['chain', 'gathers', 'limited']

/** The note of a ledger line `paid`. */
export interface Payment {
  readonly key: string
  readonly sessionId: string
}

const below = (most: number) => Math.floor(Math.random() * most)
const chance = (part: number) => Math.random() < part
const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item

/** `calm` of the ledger lasts, so it is looked for until it is there. */
function calmOf(ledger: string): () => boolean {
  let isCalm = false
  return () => {
    isCalm ||= readFileSync(ledger, 'utf8').includes('"what":"calm"')
    return isCalm
  }
}

/** Effects that must not happen twice are written into the ledger under their keys, as `paid`. */
function toolsOf({ name, ledger }: Pick<NodeOrder, 'name' | 'ledger'>) {
  const work = (tool: string, isPayment: boolean, failing: number) => async (_: unknown, context: ToolContext) => {
    const { workerId, sessionId, attempt, idempotencyKey: key, signal } = context
    const line = { what: 'paid', worker: workerId, run: 0, attempt, node: name, pid: process.pid, at: Date.now() }
    if (isPayment) appendLine(ledger, { ...line, note: { key, sessionId } satisfies Payment })
    await pause(below(100), undefined, { signal })
    if (chance(failing)) throw new Error(`${tool} broke.`)
    return `${tool} is done`
  }
  const input = z.object({ n: z.number() })
  const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', input, run: work('look', false, 0) })
  const put = defineTool({
    name: 'put',
    description: 'Puts.',
    effect: 'idempotent',
    input,
    run: work('put', false, 0.1),
  })
  const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'once', input, run: work('pay', true, 0.1) })
  const wire = defineTool({
    name: 'wire',
    description: 'Wires.',
    effect: 'once',
    approval: 'never',
    input,
    run: work('wire', true, 0),
  })
  return { look, put, pay, wire }
}

/** What a model says: also what no model should say. */
function reply(request: ModelRequest): ScriptedReply | Error {
  const trouble = Math.random()
  if (trouble < 0.04) return new TransientError('The model is busy.', { code: 'model_overloaded' })
  if (trouble < 0.05) return new TerminalError('The model refuses.', { code: 'model_refused' })
  if (trouble < 0.06) return new TerminalError('The prompt is too long.', { code: 'context_overflow' })
  if (trouble < 0.4) return say(`Answer ${below(1_000)}${' word'.repeat(below(60))}`)
  const calls = Array.from({ length: one([1, 1, 2, 3]) }, () => toolCall(request))
  const usage = { inputTokens: 100 + below(2_000), outputTokens: 20 }
  return { ...together(say('I do it.'), ...calls), usage }
}

function toolCall({ messages }: ModelRequest): ScriptedReply {
  const name = one(['look', 'look', 'put', 'pay', 'wire', 'spawn_workers', 'ask_person', 'send_message', 'ghost'])
  const inputs: Readonly<Record<string, () => Json>> = {
    spawn_workers: () => ({ tasks: Array.from({ length: 1 + below(2) }, task) }),
    ask_person: () => ({ question: 'Really?', ...(chance(0.5) && { options: ['yes', 'no'] }) }),
    send_message: () => ({ to: workersNamedIn(messages) ?? 'nobody', text: 'hello' }),
  }
  return call(name, inputs[name]?.() ?? { n: chance(0.05) ? 'no number' : below(1_000) })
}

function task(): Json {
  const kind = one(['chain', 'limited', ...chanceAgents])
  const input = chanceAgents.includes(kind) ? 'Please help.' : { n: below(100) }
  return { kind, input, ...(chance(0.2) && { detached: true }) }
}

/** A message of a person may name a worker, to whom the agent then writes. */
function workersNamedIn(messages: ModelRequest['messages']): string | undefined {
  const last = messages.findLast(({ role }) => role === 'user')
  return last?.role === 'user' ? /[0-9a-f-]{36}/.exec(textOf(last.content))?.[0] : undefined
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
    const kind = one(['chain', 'limited', 'clerk'])
    const input = kind === 'clerk' ? 'Please help.' : { n: below(10) }
    self.spawn(kind, input, chance(0.2) ? { detached: true } : {})
  }
}

export function chanceKinds(order: Pick<NodeOrder, 'name' | 'ledger'>): Record<string, WorkerDefinition> {
  const isCalm = calmOf(order.ledger)
  const { look, put, pay, wire } = toolsOf(order)
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
  const spawns = ['chain', 'limited', 'clerk', 'shaped', 'hasty']
  const instructions = 'You do whatever comes to mind.'
  return {
    clerk: defineWorker({
      instructions,
      model: model('clerk', 'done'),
      tools: [look, put, pay, wire],
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
    chain: defineWorker<unknown>({ initial: null, receive, onCancel: () => pause(below(30)) }),
    gathers: defineWorker<unknown>({ initial: null, receive, await: 'all', childrenAtOnce: 2, retries: 1 }),
    /** It has no children: kinds with a limit that wait for each other would wait for ever. */
    limited: defineWorker({
      concurrency: { most: 2, key: (input) => `key ${((input as { n?: number }).n ?? 0) % 2}` },
      rate: { most: 20, perMs: 1_000 },
      async receive(_, self) {
        if (isCalm()) return self.reply('calm')
        await pause(below(100))
        if (chance(0.2)) throw new Error('The handler breaks.')
        self.reply({ n: 1 })
      },
    }),
  }
}
