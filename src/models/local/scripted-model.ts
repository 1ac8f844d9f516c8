/**
 * Duty: a model that replies from a script, for tests and measurements. It loads nothing of the AI SDK.
 */

import { beforeAbort } from '../../core/before-abort.ts'
import { preview } from '../../core/check/preview.ts'
import type { Model, ModelCall, ModelReply, ModelRequest } from '../../core/definition/model.ts'
import { TerminalError } from '../../core/errors.ts'
import type { AssistantBlock, Json } from '../../core/history/chat/chat-message.ts'

/** A reply. By default it uses no tokens and has the finish reason that fits its content. */
export type ScriptedReply = Partial<ModelReply> & Pick<ModelReply, 'content'>
type Answer = ScriptedReply | Error
/** `number` counts the calls of this model in this process, from 1. */
type Script = readonly Answer[] | ((request: ModelRequest, number: number) => Answer | Promise<Answer>)

export interface ScriptedModel extends Model {
  /** How often the model was asked in this process. */
  readonly calls: number
}

/** A list gives its replies in order, and an error when it is used up. A reply that is an Error is thrown. */
export function scriptedModel(id: string, script: Script): ScriptedModel {
  let calls = 0
  return {
    id,
    get calls() {
      return calls
    },
    async reply(request, call) {
      call.signal.throwIfAborted()
      calls += 1
      const number = calls
      const answering = answerOf(script, request, number, id)
      const answer = answering instanceof Promise ? await beforeAbort(answering, call.signal) : answering
      if (answer instanceof Error) throw answer
      if (!Array.isArray((answer as Partial<ScriptedReply> | undefined)?.content)) throw noReply(id, number, answer)
      return deliver(id, answer, call)
    },
  }
}

export function say(text: string): ScriptedReply {
  return { content: [{ type: 'text', text }] }
}

let callsMade = 0

/** A reply with a tool call. Without `toolCallId` it gets a generated id. */
export function call(toolName: string, input: Json = {}, toolCallId?: string): ScriptedReply {
  callsMade += 1
  return { content: [{ type: 'tool-call', toolCallId: toolCallId ?? `scripted-${callsMade}`, toolName, input }] }
}

/** One reply with the content of all these replies. */
export function together(...replies: readonly ScriptedReply[]): ScriptedReply {
  return { content: replies.flatMap(({ content }) => content) }
}

function answerOf(script: Script, request: ModelRequest, number: number, id: string): Answer | Promise<Answer> {
  if (typeof script === 'function') return script(request, number)
  const answer = script[number - 1]
  return (
    answer ??
    new TerminalError(`the script of ${id} has ${script.length} replies, but it was asked for number ${number}.`)
  )
}

function noReply(id: string, number: number, answer: unknown): TerminalError {
  const answered = `answered call number ${number} with ${preview(answer)}`
  return new TerminalError(`the script of ${id} ${answered}: make replies with say, call and together.`)
}

function deliver(id: string, reply: ScriptedReply, call: ModelCall): ModelReply {
  call.onFirstByte()
  for (const block of reply.content) {
    if (block.type !== 'tool-call' && block.text !== '') call.onDelta({ type: block.type, text: block.text })
  }
  return {
    model: id,
    finishReason: finishReasonOf(reply.content),
    usage: { inputTokens: 0, outputTokens: 0 },
    ...reply,
  }
}

function finishReasonOf(content: readonly AssistantBlock[]): 'tool-calls' | 'stop' {
  return content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
}
