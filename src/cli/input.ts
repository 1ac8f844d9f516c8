/**
 * Duty: the input of a worker as it is given at the command line.
 * The rule has no guess in it: text that begins with `{` or `[` is JSON and must be valid; any other text is sent as a string.
 * `--as json` and `--as text` overrule it, for numbers, null and quoted strings, and for text that begins with a bracket.
 */
import { createReadStream } from 'node:fs'
import { type Command, Option } from 'commander'
import { InputError, LimitError } from '../core/errors.ts'
import { policy } from '../core/policy.ts'

/** No more is read than could ever be accepted: JSON may be indented, and is not when it is stored. */
const textBytesMax = 4 * policy.messageBytesMax

export interface InputFlags {
  readonly file?: string
  readonly as?: 'json' | 'text'
}

export function addInputOptions(command: Command): Command {
  return command
    .option('--file <path>', 'read the input from a file')
    .addOption(
      new Option('--as <form>', 'what the input is; default: JSON if it begins with { or [, else text').choices([
        'json',
        'text',
      ]),
    )
}

/** The input a command was given: as its argument, from a file, or from stdin (`-`). No input at all is null. */
export async function readInput(
  argument: string | undefined,
  flags: InputFlags,
  stdin: AsyncIterable<Buffer | string>,
): Promise<unknown> {
  if (flags.file !== undefined) {
    if (argument !== undefined) throw new InputError('give the input either as an argument or with --file, not both.')
    return parseInput(withoutLastBreak(await readText(flags.file)), flags.as, `the file ${flags.file}`)
  }
  if (argument === '-')
    return parseInput(withoutLastBreak(await collect(stdin, 'what came from stdin')), flags.as, 'what came from stdin')
  if (argument === undefined) return null
  return parseInput(argument, flags.as, 'the input')
}

export function parseInput(text: string, as: 'json' | 'text' | undefined, where: string): unknown {
  const isJson = as === 'json' || (as === undefined && /^\s*[{[]/.test(text))
  if (!isJson) return text
  try {
    return JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const hint = as === undefined ? ' It begins as JSON does; give --as text to send it as it is.' : ''
    throw new InputError(`${where} is not valid JSON (${reason}).${hint}`, { cause })
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await collect(createReadStream(path), `the file ${path}`)
  } catch (cause) {
    if (cause instanceof LimitError || cause instanceof InputError) throw cause
    const code = (cause as NodeJS.ErrnoException).code
    const reason = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : String(code)
    throw new InputError(`the input file ${path} cannot be read: ${reason}.`, { cause })
  }
}

async function collect(stream: AsyncIterable<Buffer | string>, what: string): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    const piece = Buffer.from(chunk)
    bytes += piece.length
    if (bytes > textBytesMax) {
      throw new LimitError(
        'message_too_big',
        `${what} has more than ${textBytesMax} bytes, of which no more were read; a message has at most ${policy.messageBytesMax} bytes of JSON. Store large data elsewhere and pass a reference.`,
      )
    }
    chunks.push(piece)
  }
  return decoded(Buffer.concat(chunks), what)
}

/** Without the byte order mark that some editors put in front. */
function decoded(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new InputError(`${what} is not text in UTF-8: save it as UTF-8, or send a reference to it.`, { cause })
  }
}

/** `echo hello | troupe run … -` means "hello". */
function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}
