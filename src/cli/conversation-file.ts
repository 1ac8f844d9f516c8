/** Duty: reads the conversation of another program from a file or from stdin, as text. */
import { createReadStream } from 'node:fs'
import { InputError, LimitError } from '../core/errors.ts'
import { policy } from '../core/policy.ts'

export async function readConversationText(
  file: string,
  _wanted: { readonly conversation?: string },
  stdin: AsyncIterable<Buffer | string>,
): Promise<string> {
  const what = file === '-' ? 'the conversation from stdin' : `the file ${file}`
  const bytes = await collect(file === '-' ? stdin : createReadStream(file), what)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new InputError(`${what} is not text in UTF-8.`, { cause })
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
