/**
 * Duty: make the note that stands in a prompt for an old result of a tool which was cleared to make room, and say how much room that makes.
 * CLEARED-1 A part is cleared in the same way each time, and is the same object each time, because adapters keep what they built from it.
 * CLEARED-2 A short result stays as it is: the note would be no shorter.
 */
import type { PromptMessage, PromptResult } from '../../definition/model.ts'

const longFrom = 400

const known = new WeakMap<PromptMessage, PromptMessage>()

/** The cleared form of a part; a part without long results stays the same object. */
export function clearedPart(part: PromptMessage): PromptMessage {
  if (part.role !== 'tool' || !part.results.some(isLong)) return part
  let cleared = known.get(part)
  if (cleared === undefined) {
    cleared = { role: 'tool', results: part.results.map((result) => (isLong(result) ? withNote(result) : result)) }
    known.set(part, cleared)
  }
  return cleared
}

/** How many results of these parts would be cleared, and by how many bytes the prompt would be shorter. */
export function clearableIn(parts: readonly PromptMessage[]): { readonly results: number; readonly bytes: number } {
  let [results, bytes] = [0, 0]
  for (const part of parts) {
    if (part.role !== 'tool') continue
    for (const result of part.results) {
      if (!isLong(result)) continue
      results++
      bytes += sizeOf(result) - sizeOf(withNote(result))
    }
  }
  return { results, bytes }
}

function withNote(result: PromptResult): PromptResult {
  const value = `(this result of ${result.toolName} was cleared to make room: it had ${sizeOf(result)} bytes. The tool did run. If it only reads, call it again for what you still need)`
  return { ...result, output: { type: result.output.type === 'error-text' ? 'error-text' : 'text', value } }
}

function isLong(result: PromptResult): boolean {
  return sizeOf(result) > longFrom
}

function sizeOf({ output: { value } }: PromptResult): number {
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
}
