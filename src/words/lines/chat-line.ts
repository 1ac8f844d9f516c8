/**
 * Duty: an entry of an agent's history as a piece of a line: what the model or a user said, which tools were called, and their results.
 * The text comes from models and tools, so that the caller must escape the line.
 */
import {
  type AssistantBlock,
  type AssistantMessage,
  type ChatMessage,
  type ToolOutput,
  type ToolResultMessage,
  textOf,
  type UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { mediaLabel } from '../../core/history/chat/media.ts'
import type { DelegatedEntry, Entry, HookedEntry } from '../../core/history/entry.ts'
import type { CallDecision } from '../../core/history/run/call-decision.ts'
import { inAndOut } from '../amounts.ts'
import { fitText } from '../text/text-width.ts'
import { steeringWord, valueLine, withPlace } from './message-line.ts'

type ChatType =
  | 'system'
  | 'user'
  | 'assistant'
  | 'toolResult'
  | 'error'
  | 'summary'
  | 'toolStarted'
  | 'delegated'
  | 'asked'
  | 'askWithdrawn'
  | 'callsDecided'
  | 'hooked'
  | 'subCallStarted'
  | 'subCall'
  | 'blank'
type AgentEntry = Extract<Entry, { readonly type: ChatType }>

const argumentsColumns = 80
const reasoningColumns = 120

/** An entry of a conversation, or a message without the head of an entry. */
export function chatLine(entry: AgentEntry | ChatMessage): string {
  switch (entry.type) {
    case 'system':
      return `system: ${valueLine(entry.text)}`
    case 'user':
      if (entry.nudge) return `nudge: ${userText(entry.content)}`
      return `${steeringWord(entry.when)}user${entry.from === undefined ? '' : ` (${entry.from})`}: ${userText(entry.content)}${factsText(entry.facts)}`
    case 'assistant':
      return assistantLine(entry)
    case 'toolResult':
      return `tool ${entry.toolName} ${endText(entry)}: ${withPlace(outputText(entry.output), entry.thrownAt)}${factsText(entry.facts)}`
    case 'error':
      return `error: ${valueLine(entry.message)}`
    case 'summary':
      return `summary of ${entry.messagesCompacted} messages: ${valueLine(entry.text)}`
    case 'toolStarted':
      return `tool ${entry.toolName} started`
    case 'delegated':
      return `delegated to ${entry.spawned.map(childText).join(', ')}`
    case 'asked':
      return `asked ${entry.asks.map(({ id, question }) => `${valueLine(question)} (ask ${id})`).join('; ')}`
    case 'askWithdrawn':
      return `ask ${entry.ask} needs no answer any more`
    case 'callsDecided':
      return `decided: ${entry.calls.map(decisionText).join('; ')}`
    case 'hooked':
      return hookedLine(entry)
    case 'subCallStarted':
      return `${entry.id} of ${entry.toolCallId}: tool ${entry.toolName} started`
    case 'subCall':
      return `${entry.id} of ${entry.toolCallId}: tool ${entry.toolName} ${statusText[entry.status] ?? entry.status}: ${outputText(entry.output)}`
    case 'blank':
      return `blank reply (${entry.model}, ${entry.finishReason}; ${inAndOut(entry.usage.inputTokens, entry.usage.outputTokens)})`
  }
}

function decisionText({ toolCallId, tool, arguments: input, refused }: CallDecision): string {
  if (refused !== undefined) return `${toolCallId} does not run: ${valueLine(refused)}`
  const means = tool === undefined ? '' : ` as ${tool}`
  const changed = input === undefined ? '' : ` with ${cut(JSON.stringify(input), argumentsColumns)}`
  return `${toolCallId} runs${means}${changed}`
}

/** A call that was held back by an approval did not fail: it did not run. */
function endText({ status, approval }: ToolResultMessage): string {
  if (approval === 'denied') return 'was denied'
  return approval === undefined ? (statusText[status] ?? status) : 'did not run'
}

const statusText = {
  ok: 'succeeded',
  error: 'failed',
  cancelled: 'was cancelled',
  unknown: 'has an unknown outcome',
} as const

function hookedLine({ hook, did, by, ms, content, reason }: HookedEntry): string {
  const who = by === undefined ? `hook ${hook}` : `processor ${by}${ms === undefined ? '' : ` (${ms} ms)`}`
  const what = content === undefined ? reason : textOf(content)
  return `${who}: ${hookText[did] ?? did}${what === undefined ? '' : `: ${valueLine(what)}`}`
}

const hookText = {
  continue: 'goes on',
  context: 'adds a text',
  transform: 'changes the input',
  abort: 'ends the run',
  suspend: 'waits for somebody',
  goOn: 'asks for more',
} as const

function assistantLine({ model, content, finishReason, usage }: AssistantMessage): string {
  const odd = finishReason === 'stop' || finishReason === 'tool-calls' ? '' : `, ended by ${finishReason}`
  const head = `assistant (${model}, ${inAndOut(usage.inputTokens, usage.outputTokens)}${odd})`
  return [`${head}:`, ...content.map(blockText)].join(' ')
}

function blockText(block: AssistantBlock): string {
  switch (block.type) {
    case 'text':
      return valueLine(block.text)
    case 'reasoning':
      return `[reasoning: ${cut(block.text, reasoningColumns)}]`
    case 'tool-call':
      return `[calls ${block.toolName} ${cut(block.inputText ?? JSON.stringify(block.input), argumentsColumns)}]`
  }
}

/** Text is shown as it is, media by their type. */
function userText(content: readonly UserBlock[]): string {
  const media = content.flatMap((block) => (block.type === 'text' ? [] : [`[${mediaLabel(block)}]`]))
  return [valueLine(textOf(content)), ...media].filter((part) => part !== '').join(' ')
}

function outputText(output: ToolOutput): string {
  return output.type === 'content' ? userText(output.value) : valueLine(output.value)
}

function factsText(facts: Readonly<Record<string, unknown>> | undefined): string {
  const names = Object.keys(facts ?? {})
  return names.length === 0 ? '' : `; facts ${names.join(', ')}`
}

function childText({ kind, name, detached, facts }: DelegatedEntry['spawned'][number]): string {
  const notes = [detached ? 'detached' : '', facts?.length ? `facts ${facts.join(', ')}` : ''].filter(
    (note) => note !== '',
  )
  return `${name === kind ? kind : `${kind} ${name}`}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`
}

/** Cuts roughly before it measures, because a value may be a mebibyte long. */
function cut(text: string, columns: number): string {
  return fitText(text.slice(0, columns * 4), columns)
}
