/**
 * Duty: keep results of tools that are too long for a conversation, and read them for the model that asks for more.
 * LONG-RESULTS-1 All of a long result is kept as a blob of its session before the call is recorded, so what a history points to is there. A blob that a
 *                crash left without a record has the same name when the call runs again and returns the same.
 * LONG-RESULTS-2 A result that cannot be kept is cut, and the model is told why. The call itself stands.
 *    The call counts as reported from the beginning: a run that ends in the meantime has the result without the rest.
 * LONG-RESULTS-3 `read_result` reads only blobs of its own session. What it returns is bounded, and no blob is made of it.
 */
import { Buffer } from 'node:buffer'
import { z } from 'zod'
import type { BlobRef } from '../../../../core/blob.ts'
import { ownTool, type Tool } from '../../../../core/definition/tool/define-tool.ts'
import { InputError, toRuntimeError } from '../../../../core/errors.ts'
import type { ToolCallBlock, ToolOutput } from '../../../../core/history/chat/chat-message.ts'
import { policy } from '../../../../core/policy.ts'
import type { BlobStore } from '../../../../core/ports/ports.ts'
import type { Facts } from '../../../tool/fact-collector.ts'
import type { KeptOutput, WholeOutput } from '../../../tool/output.ts'
import type { Journal } from '../../journal.ts'

export const readResultName = 'read_result'

/** How much is read where the model does not say. */
const lengthDefault = policy.previewBytesMax
/** How many matches a search shows, and how many characters around each. */
const matchesMax = 20
const aroundChars = 150

const readSchema = z.strictObject({
  id: z.string().describe('The id that the shortened result names.'),
  offset: z.int().min(0).optional().describe('From which byte on. Default: 0.'),
  length: z.int().min(1).max(policy.readBytesMax).optional().describe(`How many bytes. Default: ${lengthDefault}.`),
  search: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('A text to look for from `offset` on, instead of reading. Upper and lower case are the same.'),
})

/** The tool as models are told of it; in a node it runs as that node's `readResult`. */
export const readResultTool = readResult(null)

export function readResult(blobs: Pick<BlobStore, 'find' | 'read'> | null): Tool {
  return ownTool<z.infer<typeof readSchema>>({
    name: readResultName,
    description:
      'Reads more of a result that was too long to be shown. Give its id, and which part you need; or a text to search for, and you get what stands around each match, with its offset.',
    effect: 'pure',
    approval: 'never',
    outputBytesMax: 4 * policy.readBytesMax,
    input: readSchema,
    async run({ id, offset = 0, length = lengthDefault, search }, { sessionId }) {
      const ref = (await blobs?.find(sessionId, id)) ?? null
      if (blobs === null || ref === null) throw new InputError(`no result with the id "${id}" is kept in this session.`)
      if (!/^text\/|^application\/json$/.test(ref.mediaType))
        throw new InputError(`"${id}" is ${ref.mediaType} of ${ref.bytes} bytes, and no text.`)
      if (search !== undefined) return matchesIn((await blobs.read(sessionId, id)) ?? Buffer.alloc(0), search, offset)
      // It reads up to three bytes more, so that the part ends with a whole character.
      const bytes = await blobs.read(sessionId, id, { offset, length: length + 3 })
      return partOf(bytes ?? Buffer.alloc(0), offset, length, ref.bytes)
    },
  })
}

/** The part, without the pieces of characters at its ends, and where it stands. */
function partOf(bytes: Buffer, offset: number, length: number, of: number): string {
  if (offset >= of) return `[The result has ${of} bytes: there is nothing from byte ${offset} on.]`
  let from = 0
  if (offset > 0) while (from < Math.min(3, bytes.length) && isInside(bytes[from])) from++
  let to = Math.min(length, bytes.length)
  while (to < bytes.length && isInside(bytes[to])) to++
  const end = offset + to
  const rest = end < of ? ` Go on with offset ${end}.` : ' This is the end.'
  return `${bytes.toString('utf8', from, to)}\n[Bytes ${offset + from} to ${end} of ${of}.${rest}]`
}

/** True for a byte in the middle of a character. */
function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function matchesIn(bytes: Buffer, search: string, offset: number): string {
  const text = bytes.toString('utf8')
  const [all, wanted] = [text.toLowerCase(), search.toLowerCase()]
  // Very few characters have another length in lower case. If the lengths differ, no offset could be named.
  const isSame = all.length === text.length
  const [hay, needle] = isSame ? [all, wanted] : [text, search]
  const matches: string[] = []
  let count = 0
  let [at, byte, last] = [hay.indexOf(needle), 0, 0]
  for (; at !== -1; at = hay.indexOf(needle, at + needle.length)) {
    byte += Buffer.byteLength(text.slice(last, at))
    last = at
    if (byte < offset) continue
    count++
    if (matches.length === matchesMax) continue
    const around = text.slice(Math.max(0, at - aroundChars), at + needle.length + aroundChars).toWellFormed()
    matches.push(`[at byte ${byte}] …${around.replaceAll('\n', '⏎')}…`)
  }
  const what = JSON.stringify(search)
  if (count === 0) return `[${what} does not stand in the result${offset > 0 ? ` from byte ${offset} on` : ''}.]`
  const more = count > matches.length ? ` The first ${matches.length} are shown: go on with a higher offset.` : ''
  return `[${what} stands there ${count === 1 ? 'once' : `${count} times`}.${more}]\n${matches.join('\n')}`
}

/** Keeps a long output (LONG-RESULTS-1). The returned output says where the rest is. */
export async function keepLong(
  journal: Journal,
  { toolCallId }: ToolCallBlock,
  { output, whole, facts }: KeptOutput & { readonly whole: WholeOutput; readonly facts: Facts },
): Promise<{ readonly output: ToolOutput; readonly blob?: BlobRef }> {
  const { turn, log } = journal
  journal.noteReported(toolCallId, { status: 'ok', output, ...(Object.keys(facts).length > 0 && { facts }) })
  const bytes = Buffer.from(whole.text)
  const part = bytes.subarray(0, turn.host.policy.blobBytesMax)
  const isWhole = whole.isWhole && part.length === bytes.length
  try {
    const kept = await turn.host.blobs.keep(turn.assignment.sessionId, { mediaType: whole.mediaType, bytes: part })
    if (kept.kind !== 'kept')
      return noted(output, 'The rest is lost: the long results of this session have as many bytes as they may have.')
    const { id } = kept.ref
    const what = isWhole ? 'The whole result is' : `The first ${part.length} bytes of the result are`
    const how = `${readResultName}({ "id": "${id}", "offset": … }) reads on, and with "search" it looks for a text.`
    return { ...noted(output, `${what} kept: ${how}`), blob: kept.ref }
  } catch (thrown) {
    log.warn('a long result could not be kept and was cut', { error: toRuntimeError(thrown).message })
    return noted(output, 'The rest is lost: it could not be kept.')
  }
}

function noted({ type, value }: ToolOutput, note: string): { readonly output: ToolOutput } {
  return {
    output: {
      type: type === 'error-text' ? type : 'text',
      value: `${typeof value === 'string' ? value : JSON.stringify(value)}\n[${note}]`,
    },
  }
}
