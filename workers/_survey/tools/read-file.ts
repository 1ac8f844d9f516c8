/** Duty: the tool with which a model reads a text file, one piece at a time. */
import { closeSync, fstatSync, readSync } from 'node:fs'
import { defineTool, InputError } from 'troupe'
import { z } from 'zod'
import type { OpenFolder } from '../tree/folder.ts'
import { inFile, preview } from '../tree/jail.ts'
import type { BytePath } from '../tree/path.ts'

const pieceBytesMax = 20_000

const input = z.object({
  path: z.string().describe('Path of the file, relative to your folder, such as "src/main.c".'),
  offset: z.int().min(0).default(0).describe('Byte at which to begin.'),
})

export const readFile = defineTool({
  name: 'read_file',
  description: `Reads a text file, at most ${pieceBytesMax} bytes of it at a time.`,
  input,
  effect: 'pure',
  thread: import.meta.url,
  run: (order, context) => inFile(order.path, context, (folder, name) => readPiece(order, folder, name)),
})

function readPiece({ path, offset }: z.infer<typeof input>, folder: OpenFolder, name: BytePath): string {
  const descriptor = folder.openFile(name)
  try {
    if (!fstatSync(descriptor).isFile())
      throw new InputError(`${preview(path)} is not a file: list a folder with list_folder.`)
    // One byte more shows whether anything follows.
    const bytes = readFully(descriptor, offset, pieceBytesMax + 1)
    if (bytes.includes(0)) return `${preview(path)} is no text: it holds zero bytes.`
    if (bytes.length === 0)
      return offset === 0 ? `${preview(path)} is empty.` : `${preview(path)} ends before byte ${offset}.`
    if (bytes.length <= pieceBytesMax) return bytes.toString('utf8')
    const end = wholeCharacters(bytes, pieceBytesMax)
    return `${bytes.toString('utf8', 0, end)}\n[More follows: call again with "offset": ${offset + end}.]`
  } finally {
    closeSync(descriptor)
  }
}

function readFully(descriptor: number, offset: number, bytesMax: number): Buffer {
  const buffer = Buffer.alloc(bytesMax)
  let filled = 0
  while (filled < bytesMax) {
    const read = readSync(descriptor, buffer, filled, bytesMax - filled, offset + filled)
    if (read === 0) break
    filled += read
  }
  return buffer.subarray(0, filled)
}

/** The last position up to `end` that is not within a character of UTF-8. */
function wholeCharacters(bytes: Buffer, end: number): number {
  const isInside = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80
  for (let at = end; at > end - 4; at--) if (!isInside(at)) return at
  return end
}
