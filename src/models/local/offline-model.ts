/**
 * Duty: the model `offline/rules`, for trying troupe without a key. It is not a language model, and says so in each answer. Its rules:
 * OFFLINE-1 A step is a line of the instructions that begins with a number and holds exactly one tool of the request in backticks:
 *           "2. If it gave tasks, call `spawn_workers` with them."
 * OFFLINE-2 Steps are carried out in order, one call for each reply, counted since the last user message.
 * OFFLINE-3 The arguments of a step come from the latest tool result since then that is a JSON object with the name of the step's tool as a
 *           field. Without one they are `{}` if the tool requires nothing; else the last user message, if its text is a JSON object with all
 *           required fields. A step without arguments is skipped.
 * OFFLINE-4 A call that failed, or whose outcome is unknown, is not repeated. The next step follows.
 * OFFLINE-5 When no step is left, the model answers: what it is, which tools it called, which of them failed, and the last result if it is
 *           short. If the instructions have no steps, it answers what it is, how to get a real model, and the beginning of the question.
 * OFFLINE-6 If the answer must be JSON, it is the latest tool result, or else the last user message, that is a JSON object with all required
 *           fields; without one it is the simplest value that the schema describes (sample.ts).
 */

import { isObject } from '../../core/check/is-object.ts'
import type {
  Model,
  ModelReply,
  ModelRequest,
  PromptMessage,
  PromptResult,
  ToolSpec,
} from '../../core/definition/model.ts'
import { type AssistantBlock, type Json, type ToolOutput, textOf } from '../../core/history/chat/chat-message.ts'
import { outputTextOf, plainOutputOf } from '../../core/history/chat/media.ts'
import { sampleOf } from './sample.ts'

export const offlineId = 'offline/rules'

const whatItIs = `I am troupe's offline model (${offlineId}): I follow fixed rules and am no language model.`
const howToGetAnother = "For a real one set TROUPE_MODEL=provider/model and the provider's key."
/** The answer repeats the last result only up to this length. */
const resultCharsMax = 500
const quoteCharsMax = 200
const charsPerToken = 4

export function offlineModel(): Model {
  return {
    id: offlineId,
    async reply(request, call) {
      call.signal.throwIfAborted()
      call.onFirstByte()
      const content = decide(request)
      for (const block of content) {
        if (block.type !== 'text') continue
        for (const word of block.text.split(/(?<=\s)(?=\S)/)) call.onDelta({ type: 'text', text: word })
      }
      return replyOf(request, content)
    },
  }
}

interface Past {
  readonly asked: string
  /** Names of the tools called since the last user message, in order. */
  readonly called: readonly string[]
  readonly results: readonly PromptResult[]
  /** How many calls the whole conversation has. */
  readonly callsEver: number
}

function decide({ instructions, messages, tools, output }: ModelRequest): AssistantBlock[] {
  const steps = stepsOf(instructions, tools)
  const past = pastOf(messages)
  const next = nextCall(steps, past)
  if (next === null) {
    const hadSteps = steps.length > 0 || past.called.length > 0
    return [{ type: 'text', text: output === undefined ? answerOf(hadSteps, past) : valueFor(output, past) }]
  }
  const toolCallId = `offline-${past.callsEver + 1}`
  return [{ type: 'tool-call', toolCallId, toolName: next.tool.name, input: next.input }]
}

function stepsOf(instructions: string, tools: readonly ToolSpec[]): ToolSpec[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return instructions.split('\n').flatMap((line) => {
    if (!/^\s*\d+[.):]?\s/.test(line)) return []
    const named = [...line.matchAll(/`([^`]+)`/g)].flatMap(([, name = '']) => byName.get(name) ?? [])
    const [step, ...others] = new Set(named)
    return step === undefined || others.length > 0 ? [] : [step]
  })
}

/** The first line of an input that comes from another worker. */
const originLine = /^\[message from worker [^\]\n]*\]\n/

function pastOf(messages: readonly PromptMessage[]): Past {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const since = messages.slice(last + 1)
  const asked = messages[last]
  return {
    asked: asked?.role === 'user' ? textOf(asked.content).replace(originLine, '') : '',
    called: since.flatMap(callsOf),
    results: since.flatMap((message) => (message.role === 'tool' ? message.results : [])),
    callsEver: messages.flatMap(callsOf).length,
  }
}

function callsOf(message: PromptMessage): string[] {
  if (message.role !== 'assistant') return []
  return message.content.flatMap((block) => (block.type === 'tool-call' ? [block.toolName] : []))
}

/** The calls say which steps are done. A step that was not called, before one that was, has been skipped. */
function nextCall(steps: readonly ToolSpec[], past: Past): { tool: ToolSpec; input: Json } | null {
  let done = 0
  for (const tool of steps) {
    if (done < past.called.length) {
      if (past.called[done] === tool.name) done += 1
      continue
    }
    const input = inputFor(tool, past)
    if (input !== undefined) return { tool, input }
  }
  return null
}

function inputFor(tool: ToolSpec, { results, asked }: Past): Json | undefined {
  for (const { output } of results.toReversed()) {
    const result = objectOf(output)
    if (result !== null && Object.hasOwn(result, tool.name)) return result[tool.name]
  }
  const required = Array.isArray(tool.inputSchema.required) ? (tool.inputSchema.required as unknown[]) : []
  if (required.length === 0) return {}
  const said = parseObject(asked)
  if (said === null || !required.every((name) => typeof name === 'string' && Object.hasOwn(said, name)))
    return undefined
  return knownFields(said, tool.inputSchema)
}

function valueFor(schema: ModelRequest['output'] & {}, { results, asked }: Past): string {
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : []
  const known = [...results.toReversed().map(({ output }) => objectOf(output)), parseObject(asked)]
  const fits = (value: Record<string, Json> | null) =>
    value !== null && required.length > 0 && required.every((name) => Object.hasOwn(value, name as string))
  const value = known.find(fits)
  return JSON.stringify(value ? knownFields(value, schema) : sampleOf(schema))
}

/** The value without fields that the tool does not know, because the tool may refuse a call with unknown fields. */
function knownFields(value: Record<string, Json>, { properties }: ToolSpec['inputSchema']): Json {
  if (typeof properties !== 'object' || properties === null) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(properties, name)))
}

function objectOf(output: ToolOutput): Record<string, Json> | null {
  return output.type === 'text' ? parseObject(output.value) : plainObject(plainOutputOf(output))
}

function parseObject(text: string): Record<string, Json> | null {
  try {
    return plainObject(JSON.parse(text) as Json)
  } catch {
    return null
  }
}

function plainObject(value: Json): Record<string, Json> | null {
  return isObject(value) ? value : null
}

function answerOf(hadSteps: boolean, { asked, called, results }: Past): string {
  if (!hadSteps) {
    return `${whatItIs} ${howToGetAnother} I was asked: ${JSON.stringify(cut(asked, quoteCharsMax))}`
  }
  const failed = results.filter(({ output }) => output.type === 'error-text').map(({ toolName }) => toolName)
  const did = called.length === 0 ? 'called no tool' : `called ${namesOf(called)}`
  const failures = failed.length === 0 ? '' : `; ${namesOf(failed)} failed`
  const last = results.at(-1)
  const text = last === undefined ? '' : textOfOutput(last.output).trim()
  const result = text === '' || text.length > resultCharsMax ? '' : ` The last result: ${text}`
  return `${whatItIs} I ${did}${failures}.${result}`
}

/** Each name once, with its count if it occurs more than once. */
function namesOf(names: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => (count > 1 ? `${name} (${count} times)` : name)).join(', ')
}

function textOfOutput(output: ToolOutput): string {
  return outputTextOf(output)
}

function cut(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax).toWellFormed()} …` : text
}

function replyOf({ instructions, messages, tools }: ModelRequest, content: AssistantBlock[]): ModelReply {
  const tokens = (value: unknown) => Math.floor(JSON.stringify(value).length / charsPerToken)
  return {
    model: offlineId,
    content,
    finishReason: content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop',
    usage: { inputTokens: tokens([instructions, messages, tools]), outputTokens: tokens(content) },
  }
}
