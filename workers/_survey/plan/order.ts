/**
 * Duty: read the input of a surveyor, and find its folder.
 * ORDER-1 Only the folder in the run's own input is surveyed, whatever a model writes.
 */
import { isUtf8 } from 'node:buffer'
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { InputError, type Json, TerminalError, type ToolContext } from 'troupe'
import { z } from 'zod'
import { type Part, wholePart } from '../tree/part.ts'
import { type BytePath, decodePath, encodePath, fromBytes, pathTextSchema, showPath, toBytes } from '../tree/path.ts'
import { codeOf, reasonOf } from '../tree/reason.ts'

export const orderSchema = z.object({
  folder: pathTextSchema,
  /** How many workers it may use, including itself. Default: as many as the session may have. */
  workers: z.int().min(1).optional(),
})

/**
 * The folder that a surveyor's tools may touch. Null if the name is not valid UTF-8 or holds a control character such as a newline: permissions
 * cannot hold such a name, so it could not be passed to a reader.
 */
export function folderOf(input: Json): string | null {
  const folder = decodePath(orderSchema.parse(input).folder)
  if (!isAbsolute(folder)) throw new InputError(notAbsolute(folder))
  const bytes = toBytes(folder)
  if (!isUtf8(bytes)) return null
  const text = bytes.toString('utf8')
  return /\p{Cc}/u.test(text) ? null : text
}

/** How many model calls a worker needs that splits its part, spawns readers and adds up the results. */
const callsOfEach = 4

/**
 * The whole folder as a part, with as many workers as the session has room and model calls for. Throws a TerminalError if there is nothing to
 * survey.
 */
export async function wholeOf(context: Pick<ToolContext, 'input' | 'limits' | 'workspace'>): Promise<Part> {
  const order = orderSchema.safeParse(context.input)
  if (!order.success) throw new TerminalError('The input names no folder: it must be { "folder": "/absolute/path" }.')
  const top = await findTop(decodePath(order.data.folder))
  const { workspace, limits } = context
  // Compared as texts, because the root of the workspace is a text. Bytes that are not UTF-8 become the same signs in both.
  if (workspace !== null && toBytes(top).toString('utf8') !== workspace.root) {
    throw new TerminalError(`${showPath(top)} is not the folder that this worker may touch.`)
  }
  const most = Math.min(limits.workers, Math.floor(limits.modelCalls / callsOfEach))
  return wholePart(encodePath(top), Math.min(order.data.workers ?? most, most))
}

/** The path of the folder may be a link. Below its real path no link is followed. */
export async function findTop(folder: BytePath): Promise<BytePath> {
  const preview = showPath(folder)
  if (!isAbsolute(folder)) throw new TerminalError(notAbsolute(folder))
  let isFolder: boolean
  let real: Buffer
  try {
    real = await realpath(toBytes(folder), { encoding: 'buffer' })
    isFolder = (await stat(real)).isDirectory()
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(codeOf(error))
    throw new TerminalError(isMissing ? `There is no folder ${preview}.` : `${preview}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
  if (!isFolder) throw new TerminalError(`${preview} is not a folder.`)
  return fromBytes(real)
}

function notAbsolute(folder: BytePath): string {
  return `${showPath(folder)} is not an absolute path: it means nothing to another machine.`
}
