/**
 * Tools and replies of the kinds of chance-kinds.ts: tools of every effect class, one that is a recipe and one that ends its run, and a model that also says
 * what no model should say.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { ModelRequest } from '../../../src/core/definition/model.ts'
import { defineTool, type ToolContext } from '../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../src/core/errors.ts'
import { type Json, textOf } from '../../../src/core/history/chat/chat-message.ts'
import { mediaBlock } from '../../../src/core/history/chat/media.ts'
import { call, type ScriptedReply, say, together } from '../../../src/models/local/scripted-model.ts'
import { appendLine } from '../../support/fault/ledger.ts'
import type { NodeOrder } from './node-order.ts'

/** The kinds with which people begin sessions. */
export const chanceAgents: readonly string[] = ['clerk', 'shaped', 'hasty', 'reader', 'hooked', 'merges', 'desk']
export const chanceHandlers: readonly string[] = ['chain', 'gathers', 'limited', 'crowd']

/** The note of a ledger line `paid`. */
export interface Payment {
  readonly key: string
  readonly sessionId: string
  readonly toolCallId: string
}

export const below = (most: number) => Math.floor(Math.random() * most)
export const chance = (part: number) => Math.random() < part
export const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item

/** Effects that must not happen twice are written into the ledger under their keys, as `paid`. */
export function toolsOf({ name, ledger }: Pick<NodeOrder, 'name' | 'ledger'>) {
  const work = (tool: string, isPayment: boolean, failing: number) => async (_: unknown, context: ToolContext) => {
    const { workerId, sessionId, toolCallId, attempt, idempotencyKey: key, signal } = context
    const line = { what: 'paid', worker: workerId, run: 0, attempt, node: name, pid: process.pid, at: Date.now() }
    if (isPayment) appendLine(ledger, { ...line, note: { key, sessionId, toolCallId } satisfies Payment })
    if (chance(0.3)) context.setFact(tool, { attempt })
    context.progress(tool)
    await pause(below(100), undefined, { signal })
    if (chance(failing)) throw new Error(`${tool} broke.`)
    return output(tool)
  }
  const input = z.object({ n: z.number() })
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effect: 'pure',
    outputBytesMax: 500,
    input,
    run: work('look', false, 0),
  })
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
  const both = defineTool({
    name: 'both',
    description: 'Looks, puts and wires.',
    input,
    recipe: ({ n }) => ({
      serial: [
        { tool: look, arguments: { n } },
        { tool: n % 2 === 0 ? put : wire, arguments: () => ({ n }) },
      ],
      parallel: [
        { tool: wire, arguments: { n: n + 1 }, label: 'other' },
        { tool: n % 3 === 0 ? pay : look, arguments: { n } },
      ],
      ...(n % 5 === 0 && { compose: ({ errors }) => ({ errors: errors.length }) }),
    }),
  })
  const finish = defineTool({ name: 'finish', description: 'Ends.', terminal: true, input })
  return { look, put, pay, wire, both, finish }
}

/** A text, one that is kept aside, or a picture. */
function output(tool: string): unknown {
  const what = Math.random()
  if (what < 0.8) return `${tool} is done`
  if (what < 0.9) return `${tool} is done: ${`${below(1_000)} `.repeat(400)}`
  return { content: [{ type: 'text', text: tool }, mediaBlock(picture(below(2) * 20_000))] }
}

/** A picture of the smallest size and this many bytes more. */
export function picture(bytes: number): Uint8Array {
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(bytes + 8, below(250))])
}

/** What a model says: also what no model should say. */
export function reply(request: ModelRequest): ScriptedReply | Error {
  const trouble = Math.random()
  if (trouble < 0.04) return new TransientError('The model is busy.', { code: 'model_overloaded' })
  if (trouble < 0.05) return new TerminalError('The model refuses.', { code: 'model_refused' })
  if (trouble < 0.06) return new TerminalError('The prompt is too long.', { code: 'context_overflow' })
  const usage = { inputTokens: 100 + below(2_000), outputTokens: 20 }
  if (trouble < 0.08) return { ...say(''), usage }
  if (trouble < 0.1) return { ...say('This is cut of'), finishReason: 'length', usage }
  if (trouble < 0.4) return { ...say(`Answer ${below(1_000)}${' word'.repeat(below(60))}`), usage }
  const calls = Array.from({ length: one([1, 1, 2, 3]) }, () => toolCall(request))
  return { ...together(say('I do it.'), ...calls), usage }
}

function toolCall({ messages, tools }: ModelRequest): ScriptedReply {
  const name = one([...tools.map((tool) => tool.name), 'ghost'])
  const inputs: Readonly<Record<string, () => Json>> = {
    spawn_workers: () => ({ tasks: Array.from({ length: 1 + below(2) }, task) }),
    ask_person: () => ({ question: 'Really?', ...(chance(0.5) && { options: ['yes', 'no'] }) }),
    send_message: () => ({ to: workersNamedIn(messages) ?? 'nobody', text: 'hello' }),
    read_result: () => ({ id: keptIn(messages) ?? 'nothing', offset: below(2_000) }),
    list_tasks: () => ({}),
  }
  const args = { n: chance(0.05) ? 'no number' : below(1_000), ...(chance(0.05) && { terminate: true }) }
  // Some providers count the calls of a conversation or of a reply, so an id comes again.
  return call(name, inputs[name]?.() ?? args, chance(0.4) ? `call_${below(3)}` : randomUUID())
}

function task(): Json {
  const kind = one(['chain', 'limited', 'crowd', ...chanceAgents])
  const input = chanceAgents.includes(kind) ? 'Please help.' : { n: below(100) }
  return { kind, input, ...(chance(0.3) && { detached: true }), ...(chance(0.3) && { name: `task ${below(3)}` }) }
}

/** A message of a person may name a worker, to whom the agent then writes. */
function workersNamedIn(messages: ModelRequest['messages']): string | undefined {
  const last = messages.findLast(({ role }) => role === 'user')
  return last?.role === 'user' ? /[0-9a-f-]{36}/.exec(textOf(last.content))?.[0] : undefined
}

function keptIn(messages: ModelRequest['messages']): string | undefined {
  return /[0-9a-f]{32}/.exec(JSON.stringify(messages))?.[0]
}
