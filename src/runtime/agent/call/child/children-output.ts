/**
 * Duty: write what a model reads of the children that its call has started: one result for all of them.
 * CHILDREN-OUTPUT-1 The children of one call report as one result, in the order of the tasks. If one child fails, its failure stands beside the
 *                   results of the others.
 */
import { withoutFence } from '../../../../core/check/fence.ts'
import { isObject } from '../../../../core/check/is-object.ts'
import { isAgentResult } from '../../../../core/history/agent-result.ts'
import type { Json, ToolOutput } from '../../../../core/history/chat/chat-message.ts'
import type { SpawnNote } from '../../../../core/history/entry.ts'
import { isDeeperThan } from '../../../../core/json.ts'
import { policy } from '../../../../core/policy.ts'
import type { ResultMessage } from '../../../../core/worker/message/message.ts'

/** The result of a call whose children are all detached. */
export function detachedOutput(notes: readonly SpawnNote[]): ToolOutput {
  const value = notes.map(({ id, name, kind }) => ({ workerId: id, name, kind, status: 'started' }))
  return { type: 'json', value }
}

/** The results of one call's children, in the order of its tasks (CHILDREN-OUTPUT-1). */
export function childrenOutput(
  notes: readonly SpawnNote[],
  results: ReadonlyMap<number, ResultMessage>,
  bytesMax: number,
): ToolOutput {
  const charsMax = Math.max(1_000, Math.floor(bytesMax / notes.length))
  const value = notes.map(({ call, id, name, kind, detached }) => {
    const head = { workerId: id, name, kind }
    if (detached) return { ...head, status: 'started' }
    const result = results.get(call)
    if (result === undefined) return { ...head, status: 'unknown' }
    const { status, failure } = result
    const summary = status === 'completed' ? summarize(result.value, charsMax) : {}
    return {
      ...head,
      status,
      ...summary,
      ...(failure && { failure: { code: failure.code, message: failure.message } }),
    }
  })
  return { type: 'json', value: value as Json }
}

/**
 * `{ summary, artifacts, details }`: taken from the child's result if it is JSON of this form; otherwise its text is the details. With `finishReason`
 * if the answer was cut.
 */
function summarize(value: unknown, charsMax: number): Record<string, Json> {
  if (!isAgentResult(value)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const isAsItIs = text.length <= charsMax && !isTooDeep(value)
    if (isAsItIs && isStructured(value)) return { summary: '', ...value }
    return { summary: firstLine(text), details: isAsItIs ? (value as Json) : cut(text, charsMax) }
  }
  // The value that its kind, or its last call, made of the answer says more than its text.
  if (value.output !== undefined) return summarize(value.output, charsMax)
  const cutBy = value.finishReason && { finishReason: value.finishReason }
  return { ...summarizeText(value.text, charsMax), ...cutBy }
}

function summarizeText(answer: string, charsMax: number): Record<string, Json> {
  const parsed = structured(answer)
  if (parsed === null) return { summary: firstLine(answer), details: cut(answer, charsMax) }
  if (JSON.stringify(parsed).length > charsMax)
    return {
      summary: firstLine(typeof parsed.summary === 'string' ? parsed.summary : ''),
      details: cut(answer, charsMax),
    }
  const { summary, ...rest } = parsed
  return { summary: typeof summary === 'string' ? summary : '', ...rest }
}

/** True for an object with some of the known keys and no others. */
function isStructured(value: unknown): value is Record<string, Json> {
  if (!isObject(value) || typeof (value.summary ?? '') !== 'string') return false
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => structuredKeys.includes(key))
}

const structuredKeys = ['summary', 'artifacts', 'decisions', 'nextSteps', 'details']

/** A value that is nested too deeply can be read but not written again, or a provider refuses it. It is passed on as text instead. */
function isTooDeep(value: unknown): boolean {
  return isDeeperThan(value, policy.jsonDepthMax)
}

/** Reads an answer that is JSON of the known form, alone or in a code fence. Otherwise returns null. */
function structured(text: string): Record<string, Json> | null {
  try {
    const value: unknown = JSON.parse(withoutFence(text))
    if (!isObject(value) || isTooDeep(value)) return null
    const known = Object.entries(value).filter(([key]) => structuredKeys.includes(key))
    return known.length > 0 ? (Object.fromEntries(known) as Record<string, Json>) : null
  } catch {
    return null
  }
}

function firstLine(text: string): string {
  const line = text.split('\n').find((part) => part.trim() !== '') ?? ''
  return cut(line.trim(), 200)
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax
    ? text
    : `${text.slice(0, charsMax).toWellFormed()} … (${text.length} characters in all)`
}
