/**
 * Duty: reads the input of a worker from the command line: from an argument, a file or stdin.
 * INPUT-1 Text that begins with `{` or `[` is JSON and must be valid. Any other text is sent as a string.
 *         Numbers keep all their digits (EXACT-1 of core/exact-json.ts).
 * INPUT-2 `--as json` and `--as text` override that rule: for numbers, null and quoted strings, or for text that begins with a bracket.
 */
import { createReadStream } from 'node:fs'
import { type Command, Option } from 'commander'
import { attachment } from '../client/submission/attached.ts'
import { isObject } from '../core/check/is-object.ts'
import { InputError, LimitError } from '../core/errors.ts'
import { parseExactJson } from '../core/exact-json.ts'
import { isMediaPart } from '../core/history/chat/media.ts'
import { policy } from '../core/policy.ts'

/** The most bytes that are read. Indented JSON may be longer than the JSON that is stored. */
const textBytesMax = 4 * policy.messageBytesMax

export interface InputFlags {
  readonly file?: string
  readonly as?: 'json' | 'text'
}

export function addInputOptions(command: Command): Command {
  return command
    .option('--file <path>', 'read the input from a file')
    .addOption(
      new Option('--as <form>', 'form of the input; default: JSON if it begins with { or [, else text').choices([
        'json',
        'text',
      ]),
    )
}

export interface AttachFlags {
  readonly attach?: readonly string[]
}

export function addAttachOption(command: Command): Command {
  return command.option(
    '--attach <path>',
    'send an image, a sound or another file along (may be repeated)',
    (path: string, before: readonly string[] | undefined) => [...(before ?? []), path],
  )
}

/** The input with these files behind it, as content blocks. */
export async function withAttachments(input: unknown, { attach = [] }: AttachFlags): Promise<unknown> {
  if (attach.length === 0) return input
  const blocks = await Promise.all(attach.map((path) => attachment(path)))
  return { content: [...blocksOf(input), ...blocks] }
}

function blocksOf(input: unknown): readonly unknown[] {
  if (input === null) return []
  if (isObject(input) && Array.isArray(input.content)) return input.content
  if (Array.isArray(input) && input.every(isBlock)) return input
  return [{ type: 'text', text: typeof input === 'string' ? input : JSON.stringify(input) }]
}

function isBlock(value: unknown): boolean {
  return isMediaPart(value) || (isObject(value) && value.type === 'text')
}

/** The input of a command: its argument, a file, or stdin (`-`). Without any input it is null. `what`: its name in errors. */
export async function readInput(
  argument: string | undefined,
  flags: InputFlags,
  stdin: AsyncIterable<Buffer | string>,
  what = 'the input',
): Promise<unknown> {
  if (flags.file !== undefined) {
    if (argument !== undefined) throw new InputError(`give ${what} as an argument or with --file, not both.`)
    return parseInput(withoutLastBreak(await readText(flags.file)), flags.as, `the file ${flags.file}`)
  }
  if (argument === '-')
    return parseInput(withoutLastBreak(await collect(stdin, `${what} from stdin`)), flags.as, `${what} from stdin`)
  if (argument === undefined) return null
  return parseInput(argument, flags.as, what)
}

export function parseInput(text: string, as: 'json' | 'text' | undefined, where: string): unknown {
  const isJson = as === 'json' || (as === undefined && /^\s*[{[]/.test(text))
  if (!isJson) return text
  try {
    return parseExactJson(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const advice = as === undefined ? ' It begins like JSON; to send it as text, add --as text.' : ''
    throw new InputError(`${where} is not valid JSON (${reason}).${advice}`, { cause })
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
        `${what} is longer than ${textBytesMax} bytes; a message has at most ${policy.messageBytesMax} bytes of JSON. Store large data elsewhere and pass a reference.`,
      )
    }
    chunks.push(piece)
  }
  return decoded(Buffer.concat(chunks), what)
}

/** Decodes UTF-8, and removes the byte order mark that some editors put in front. */
function decoded(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new InputError(`${what} is not text in UTF-8: save it as UTF-8, or send a reference to it.`, { cause })
  }
}

/** `echo hello | troupe run … -` sends "hello" without a line break. */
function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}
