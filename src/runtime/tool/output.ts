/**
 * Duty: what a tool returned, as it is recorded and shown to a model.
 * OU1 Never throws; it is always well-formed text or plain JSON that shares nothing with the tool's own objects.
 * OU2 What is shown of the value has at most `bytesMax` bytes of UTF-8; a note about the cut comes on top.
 * OU3 A cut copies what is shown, not what is cut off, and keeps no hold on it.
 */
import { Buffer } from 'node:buffer'
import type { Json, ToolOutput } from '../../core/history/chat-message.ts'
import { emptiedBy, isDeeperThan, whyNoJson, withoutJson } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import { failedText } from './messages.ts'
import { wellFormedJson } from './plain-json.ts'

const encoder = new TextEncoder()

export function toOutput(value: unknown, bytesMax: number = policy.toolOutputBytesMax): ToolOutput {
  if (value === undefined) return { type: 'text', value: '(no output)' }
  if (typeof value === 'string') return { type: 'text', value: cutText(value, bytesMax) }
  // As JSON it would be many times as large, and hold up the node and its leases while it is written.
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    const bytes = `the tool ran, but its output is binary (${value.byteLength} bytes)`
    return errorOutput(`${bytes}: give text, like buffer.toString('utf8'), or a list of numbers.`, bytesMax)
  }
  let json: string | undefined
  let reason = withoutJson(value)
  try {
    json = JSON.stringify(value)
  } catch (thrown) {
    reason = whyNoJson(thrown)
  }
  // It says that the tool ran: its effect is there, though its output is not.
  if (json === undefined)
    return errorOutput(`the tool ran, but its output cannot be written as JSON: ${reason}`, bytesMax)
  const nothing = emptiedBy(value, json)
  if (nothing !== null) return errorOutput(`the tool ran, but its output is ${nothing}`, bytesMax)
  const text = wellFormedJson(json)
  if (!fits(text, bytesMax)) return { type: 'text', value: cutText(text, bytesMax) }
  const plain = JSON.parse(text) as Json
  return isDeeperThan(plain, policy.jsonDepthMax) ? { type: 'text', value: text } : { type: 'json', value: plain }
}

/** Why a call failed, in the form of an output. */
export function errorOutput(message: string, bytesMax: number = policy.toolOutputBytesMax): ToolOutput {
  return { type: 'error-text', value: cutText(failedText(message), bytesMax) }
}

/** Well-formed text of at most `bytesMax` bytes, and a note when that is not all. */
function cutText(text: string, bytesMax: number): string {
  if (fits(text, bytesMax)) return text.toWellFormed()
  const shown = Buffer.allocUnsafe(bytesMax)
  // A unit has at least one byte, so that no more of them can fit; the encoder never writes part of a character.
  const { written } = encoder.encodeInto(text.slice(0, bytesMax), shown)
  const note = `[Output cut: it has ${Buffer.byteLength(text)} bytes, of which the first ${written} are shown.]`
  return `${shown.toString('utf8', 0, written)}\n${note}`
}

function fits(text: string, bytesMax: number): boolean {
  // A unit has at most three bytes: most texts need no count.
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && Buffer.byteLength(text) <= bytesMax)
}
