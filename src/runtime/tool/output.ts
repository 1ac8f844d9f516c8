/**
 * Duty: turn what a tool returned into the output that is recorded and sent to the model.
 * OUTPUT-1 Never throws. The output is well-formed text or plain JSON, and shares nothing with the tool's own objects.
 * OUTPUT-2 The part of the value that is kept has at most `bytesMax` bytes of UTF-8. A note about the cut comes on top.
 * OUTPUT-3 A cut copies the part that is kept. It neither copies nor holds the part that is cut off.
 */
import { Buffer } from 'node:buffer'
import type { Json, ToolOutput } from '../../core/history/chat-message.ts'
import { emptiedBy, isDeeperThan, whyNoJson, withoutJson } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import { redactSentence } from '../../core/secret/redact.ts'
import { failedText } from './messages.ts'
import { wellFormedJson } from './plain-json.ts'

const encoder = new TextEncoder()

export function toOutput(value: unknown, bytesMax: number = policy.toolOutputBytesMax): ToolOutput {
  if (value === undefined) return { type: 'text', value: '(no output)' }
  if (typeof value === 'string') return { type: 'text', value: cutText(value, bytesMax) }
  // Binary data as JSON would be many times as large. Writing it would block the node, and its leases could expire.
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
  // The error says that the tool ran: its effect happened, although its output is lost.
  if (json === undefined)
    return errorOutput(`the tool ran, but its output cannot be written as JSON: ${reason}`, bytesMax)
  const emptied = emptiedBy(value, json)
  if (emptied !== null) return errorOutput(`the tool ran, but its output is ${emptied}`, bytesMax)
  const text = wellFormedJson(json)
  if (!fits(text, bytesMax)) return { type: 'text', value: cutText(text, bytesMax) }
  const plain = JSON.parse(text) as Json
  return isDeeperThan(plain, policy.jsonDepthMax) ? { type: 'text', value: text } : { type: 'json', value: plain }
}

/** The output of a call that failed. */
export function errorOutput(message: string, bytesMax: number = policy.toolOutputBytesMax): ToolOutput {
  return { type: 'error-text', value: cutText(failedText(redactSentence(message)), bytesMax) }
}

/** The text, well-formed. If it has more than `bytesMax` bytes, it is cut and a note is added. */
function cutText(text: string, bytesMax: number): string {
  if (fits(text, bytesMax)) return text.toWellFormed()
  const kept = Buffer.allocUnsafe(bytesMax)
  // Each UTF-16 unit has at least one byte, so no more than `bytesMax` units fit. The encoder never writes part of a character.
  const { written } = encoder.encodeInto(text.slice(0, bytesMax), kept)
  const note = `[Output cut: it has ${Buffer.byteLength(text)} bytes; only the first ${written} are shown.]`
  return `${kept.toString('utf8', 0, written)}\n${note}`
}

function fits(text: string, bytesMax: number): boolean {
  // A UTF-16 unit has at most three bytes in UTF-8, so most texts need not be measured.
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && Buffer.byteLength(text) <= bytesMax)
}
