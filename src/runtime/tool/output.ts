/**
 * Duty: turn what a tool returned into the output that is recorded and sent to the model.
 * OUTPUT-1 Never throws. The output is well-formed text or plain JSON, and shares nothing with the tool's own objects.
 * OUTPUT-2 The part of the value that is kept has at most `bytesMax` bytes of UTF-8. A note about the cut comes on top.
 * OUTPUT-3 A cut copies the part that is kept. It neither copies nor holds the part that is cut off.
 */
import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { isObject } from '../../core/check/is-object.ts'
import { InputError } from '../../core/errors.ts'
import type { Json, ToolOutput, UserBlock } from '../../core/history/chat/chat-message.ts'
import { userBlockSchema } from '../../core/history/chat/chat-schema.ts'
import { bytesOf, isMediaPart, mediaLabel, withRealType } from '../../core/history/chat/media.ts'
import { whyNoJson } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import { redactSentence } from '../../core/secret/redact.ts'
import { type WrittenJson, writeJson } from './json-writer.ts'
import { failedText } from './messages.ts'
import { wellFormedJson } from './plain-json.ts'

const encoder = new TextEncoder()
const contentSchema = z.array(userBlockSchema).min(1)
/** If the JSON text is longer, only its beginning is written, and nobody knows its length. */
const exactCharsMax = 1_048_576

/** A text that was cut for the model: all of it, to be kept elsewhere. */
export interface WholeOutput {
  readonly mediaType: 'text/plain' | 'application/json'
  readonly text: string
  /** False if even this is only its beginning. */
  readonly isWhole: boolean
}

export interface KeptOutput {
  readonly output: ToolOutput
  readonly whole?: WholeOutput | undefined
}

export function toOutput(value: unknown, bytesMax: number = policy.toolOutputBytesMax): ToolOutput {
  return outputOf(value, bytesMax, null).output
}

/** If the output has more than `bytesMax` bytes, the first `previewMax` of them, and all of it beside that. */
export function toKeptOutput(value: unknown, bytesMax: number, previewMax: number): KeptOutput {
  return outputOf(value, bytesMax, Math.min(previewMax, bytesMax))
}

function outputOf(value: unknown, bytesMax: number, previewMax: number | null): KeptOutput {
  if (value === undefined) return { output: { type: 'text', value: '(no output)' } }
  const content = contentOf(value)
  if (content !== null) return { output: { type: 'content', value: withinBounds(content, bytesMax) } }
  if (typeof value === 'string')
    return cutOutput({ mediaType: 'text/plain', text: value, isWhole: true }, bytesMax, previewMax)
  let written: WrittenJson
  try {
    written = writeJson(value, previewMax === null ? Math.max(exactCharsMax, 2 * bytesMax) : policy.blobBytesMax)
  } catch (thrown) {
    // The error says that the tool ran: its effect happened, although its output is lost.
    const reason = thrown instanceof InputError ? thrown.message : `cannot be written as JSON: ${whyNoJson(thrown)}`
    return { output: errorOutput(`the tool ran, but its output ${reason}`, bytesMax) }
  }
  const text = wellFormedJson(written.text)
  if (!written.isWhole || !fits(text, bytesMax))
    return cutOutput({ mediaType: 'application/json', text, isWhole: written.isWhole }, bytesMax, previewMax)
  return written.depth > policy.jsonDepthMax
    ? { output: { type: 'text', value: text } }
    : { output: { type: 'json', value: JSON.parse(text) as Json } }
}

function cutOutput(whole: WholeOutput, bytesMax: number, previewMax: number | null): KeptOutput {
  const { text, isWhole } = whole
  if (previewMax === null || (isWhole && fits(text, bytesMax)))
    return { output: { type: 'text', value: cutText(text, bytesMax, isWhole) } }
  return { output: { type: 'text', value: cutText(text, previewMax, isWhole) }, whole }
}

/** `{ content: [...] }` with at least one medium, as an input may be. Anything else is JSON. */
function contentOf(value: unknown): readonly UserBlock[] | null {
  try {
    if (!isObject(value) || !Array.isArray(value.content) || Object.keys(value).length !== 1) return null
    if (!value.content.some(isMediaPart)) return null
    const fit = contentSchema.safeParse(value.content)
    return fit.success ? fit.data : null
  } catch {
    // A getter of the value threw: the code that writes the value as JSON reports that. What writes it as JSON says so.
    return null
  }
}

/** Texts are cut as usual. Media for which there is no room become notes. */
function withinBounds(blocks: readonly UserBlock[], bytesMax: number): UserBlock[] {
  let bytes = 0
  let images = 0
  let left = bytesMax
  return blocks.map((block): UserBlock => {
    if (block.type === 'text') {
      const text = cutText(block.text, left)
      left = Math.max(0, left - Buffer.byteLength(block.text))
      return { type: 'text', text }
    }
    const held = bytesOf(block) ?? 0
    if (block.type === 'image') images += 1
    const why =
      images > policy.imagesMax
        ? `a result holds at most ${policy.imagesMax} images`
        : bytes + held > policy.toolMediaBytesMax
          ? `a result holds at most ${policy.toolMediaBytesMax} bytes of media`
          : null
    if (why !== null) return { type: 'text', text: `(${mediaLabel(block)} left out: ${why})` }
    bytes += held
    return withRealType(block)
  })
}

/** The output of a call that failed. */
export function errorOutput(message: string, bytesMax: number = policy.toolOutputBytesMax): ToolOutput {
  return { type: 'error-text', value: cutText(failedText(redactSentence(message)), bytesMax) }
}

/** The text, well-formed. If it has more than `bytesMax` bytes, it is cut and a note is added. */
export function cutText(text: string, bytesMax: number, isWhole = true): string {
  if (isWhole && fits(text, bytesMax)) return text.toWellFormed()
  const kept = Buffer.allocUnsafe(bytesMax)
  // Each UTF-16 unit has at least one byte, so no more than `bytesMax` units fit. The encoder never writes part of a character.
  const { written } = encoder.encodeInto(text.slice(0, bytesMax), kept)
  const note = `[Output cut: it has ${isWhole ? '' : 'more than '}${Buffer.byteLength(text)} bytes; only the first ${written} are shown.]`
  return `${kept.toString('utf8', 0, written)}\n${note}`
}

function fits(text: string, bytesMax: number): boolean {
  // A UTF-16 unit has at most three bytes in UTF-8, so most texts need not be measured.
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && Buffer.byteLength(text) <= bytesMax)
}
