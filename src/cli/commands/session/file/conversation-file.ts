/** Duty: read the conversation of another program from a file or from stdin, as text; from a database, only its row. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { InputError, LimitError } from '../../../../core/errors.ts'
import { policy } from '../../../../core/policy.ts'

export async function readConversationText(
  file: string,
  { conversation }: { readonly conversation?: string },
  stdin: AsyncIterable<Buffer | string>,
): Promise<string> {
  const what = file === '-' ? 'the conversation from stdin' : `the file ${file}`
  if (file !== '-' && (await beginsAsDatabase(file))) {
    const { readRowOf } = await import('../../../../formats/programs/q-database.ts')
    return readRowOf(file, { conversation, folder: process.cwd() })
  }
  const bytes = await collect(file === '-' ? stdin : createReadStream(file), what)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new InputError(`${what} is not text in UTF-8.`, { cause })
  }
}

/** A file that cannot be opened is none: reading it says why. */
async function beginsAsDatabase(file: string): Promise<boolean> {
  const { isDatabase } = await import('../../../../formats/programs/q-database.ts')
  try {
    await using handle = await open(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0)
    return isDatabase(buffer.subarray(0, bytesRead))
  } catch {
    return false
  }
}

async function collect(stream: AsyncIterable<Buffer | string>, what: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream) {
      const piece = Buffer.from(chunk)
      bytes += piece.length
      if (bytes > policy.conversationBytesMax)
        throw new LimitError('message_too_big', `${what} is longer than ${policy.conversationBytesMax} bytes.`)
      chunks.push(piece)
    }
  } catch (cause) {
    if (cause instanceof LimitError) throw cause
    const code = (cause as NodeJS.ErrnoException).code
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : String(code)
    throw new InputError(`${what} cannot be read: ${why}.`, { cause })
  }
  return Buffer.concat(chunks)
}
