/**
 * Duty: convert images, audio and files of a message to parts of the AI SDK, or to a note for the model where that is not possible.
 * Owns: what this model's adapter was seen to refuse.
 * SDK-MEDIA-1 A part that the provider cannot take becomes a note that names it. It never ends a conversation.
 * SDK-MEDIA-2 A `data:` address is bytes like any other. Text in it is sent as text, which every model can read.
 * SDK-MEDIA-3 What an adapter can take is known to the adapter. It refuses before it sends anything; this file reads from its error what
 *             was refused, and the request is made again without it.
 * SDK-MEDIA-4 A provider that says that this model takes no images at all is believed from then on. That a provider refuses one image does not mean
 * that it refuses all.
 */
import type { ModelMessage } from 'ai'
import type { PromptMessage } from '../../core/definition/model.ts'
import type { FileBlock, MediaBlock, UserBlock } from '../../core/history/chat/chat-message.ts'
import { contradiction } from '../../core/history/chat/media.ts'
import { withoutSenderLines } from '../../core/history/prompt/user-blocks.ts'
import { policy } from '../../core/policy.ts'
import { wellFormed } from '../http/well-formed.ts'

type UserPart = Exclude<Extract<ModelMessage, { role: 'user' }>['content'], string>[number]
type Block = MediaBlock | FileBlock

type Source =
  | { readonly kind: 'data'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'url'; readonly mediaType: string; readonly url: URL }
  | { readonly kind: 'invalid'; readonly why: string }

/** The types of images that the API of a provider takes. Its adapter would pass on any other image, and the provider would refuse the request. */
const commonImages = /^image(?:\/(?:png|jpeg|gif|webp|\*))?$/
const providersWithCommonImages = new Set(['openai', 'openai-chat', 'anthropic'])

/** Media types whose bytes are text. */
const isText = /^text\/|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson|toml|sql)$/

/** Names of errors that an adapter throws before it sends anything. */
const refusals = new Set([
  'AI_UnsupportedFunctionalityError',
  'AI_InvalidDataContentError',
  'AI_InvalidArgumentError',
  'AI_InvalidPromptError',
  'InvalidCharacterError',
])

/** The media of a prompt that are not sent, whatever the adapter takes. */
export interface LeftOut {
  /** All media become notes. */
  readonly withNone: boolean
  /** Images that have too many newer ones after them. */
  readonly over: ReadonlySet<Block>
}

/** Providers whose results of tools may hold images. */
const withImagesInResults = new Set(['openai', 'anthropic', 'amazon-bedrock', 'google'])

export class SdkMedia {
  readonly #modelId: string
  readonly #refused = new Set<string>()

  /** `modelId`: `provider/model`. */
  constructor(modelId: string) {
    this.#modelId = modelId
  }

  part(block: Block, { withNone, over }: LeftOut): UserPart {
    const source = sourceOf(block)
    if (source.kind === 'invalid') return note(block, source.why)
    if (over.has(block))
      return note(block, `a request holds at most ${policy.imagesMax} images, and there are newer ones`)
    if (withNone || this.#isRefused(source)) return note(block, `${this.#modelId} does not take ${nameOf(source)}`)
    const filename = 'filename' in block && block.filename !== undefined ? wellFormed(block.filename) : undefined
    if (source.kind === 'data' && isText.test(source.mediaType)) return textPart(source.base64, filename)
    const { mediaType } = source
    const data =
      source.kind === 'data'
        ? ({ type: 'data', data: source.base64 } as const)
        : ({ type: 'url', url: source.url } as const)
    return { type: 'file', mediaType, data, ...(filename === undefined ? {} : { filename }) }
  }

  /** A medium in the result of a tool. */
  resultPart(block: Block, left: LeftOut): UserPart {
    const mayHold = block.type === 'image' && withImagesInResults.has(this.#modelId.split('/', 1)[0] as string)
    const part = this.part(block, left)
    return part.type === 'text' || mayHold
      ? part
      : note(block, `${this.#modelId} takes no ${block.type} in results of tools`)
  }

  #isRefused(source: Exclude<Source, { kind: 'invalid' }>): boolean {
    const { mediaType } = source
    if (this.#refused.has(nameOf(source)) || this.#refused.has(groupOf(mediaType))) return true
    const isCommon = !mediaType.startsWith('image') || commonImages.test(mediaType)
    return !isCommon && providersWithCommonImages.has(this.#modelId.split('/', 1)[0] as string)
  }

  /** Learns from a refusal of the provider. Returns true if a request with these messages would now be another one. */
  learnFromProvider(message: string, messages: readonly PromptMessage[]): boolean {
    const types = mediaOf(messages)
      .map(sourceOf)
      .flatMap((source) => (source.kind === 'invalid' ? [] : [groupOf(source.mediaType)]))
    const groups = groupsRefusedIn(message).filter((group) => types.includes(group) && !this.#refused.has(group))
    for (const group of groups) this.#refused.add(group)
    return groups.length > 0
  }

  /**
   * Learns from an error of the adapter which media it cannot take. `one`: ask again, these are left out now. `all`: ask again without
   * media, because the error names none. `none`: the error is about something else.
   */
  learn(thrown: unknown, messages: readonly PromptMessage[]): 'one' | 'all' | 'none' {
    const text = refusalOf(thrown)
    if (text === null) return 'none'
    const sources = mediaOf(messages).map(sourceOf)
    const known = new Map(sources.flatMap((source) => (source.kind === 'invalid' ? [] : [[nameOf(source), source]])))
    const open = [...known].filter(([, source]) => !this.#isRefused(source))
    if (open.length === 0) return 'none'
    const exact = open.filter(([, { mediaType }]) => text.includes(mediaType.toLowerCase()))
    const named =
      exact.length > 0
        ? exact
        : open.filter(
            ([, { kind, mediaType }]) => kind === 'url' && text.includes('url') && text.includes(topOf(mediaType)),
          )
    for (const [name] of named) this.#refused.add(name)
    return named.length > 0 ? 'one' : 'all'
  }
}

/** Sentences of providers about a model that takes no media of a kind, or text alone. `$` stands for the words for that kind. */
const noneTaken = [
  /(?:does not|doesn't|do not|don't|cannot|can't|not) (?:support|accept|take)s?\b.{0,60}\b(?:$)/,
  /\b(?:$)(?:\b|_).{0,40}\b(?:not supported|unsupported|not (?:enabled|available|allowed)|only supported)\b/,
  /\bunknown variant `(?:$)|\bat most 0 (?:$)|\bmissing data required for (?:$)|\bnot a (?:$)\b.{0,20}\bmodel\b/,
]
/** The sentence is about a file that is too large, or of the wrong form. */
const aboutThisOne = /\b(?:format|extension|mime|media type|encoding|size|dimensions?|exceeds?|corrupt(?:ed)?|decode)\b/
const textAlone = /\bonly (?:supports?|accepts?|takes?) text\b|\bcontent must be a string\b/
const words: readonly (readonly [group: string, words: string])[] = [
  ['image', 'images?|image_url|input_image|vision|multimodal'],
  ['audio', 'audio|input_audio|multimodal'],
  ['application', 'files?|input_file|documents?|pdfs?|multimodal'],
]

/** The groups of media types that the model takes none of, by what its provider says. */
function groupsRefusedIn(message: string): readonly string[] {
  const text = message.slice(0, 1_000).toLowerCase()
  if (aboutThisOne.test(text)) return []
  if (textAlone.test(text)) return words.map(([group]) => group)
  const says = (of: string) => noneTaken.some(({ source }) => new RegExp(source.replaceAll('$', of)).test(text))
  return words.filter(([, of]) => says(of)).map(([group]) => group)
}

function groupOf(mediaType: string): string {
  return mediaType.split('/', 1)[0] as string
}

/** What the adapter says about its refusal, in lower case. Null for any other error. */
function refusalOf(thrown: unknown): string | null {
  if (typeof thrown !== 'object' || thrown === null) return null
  const { name, message, functionality } = thrown as Record<string, unknown>
  if (typeof name !== 'string' || !refusals.has(name)) return null
  const texts = [functionality, message].filter((text) => typeof text === 'string')
  return texts.join(' ').slice(0, 1_000).toLowerCase()
}

function mediaOf(messages: readonly PromptMessage[]): Block[] {
  return messages.flatMap((message) => {
    if (message.role === 'user') return message.content.filter(isMedia)
    if (message.role === 'assistant') return []
    return message.results.flatMap(({ output }) => (output.type === 'content' ? output.value.filter(isMedia) : []))
  })
}

/** All images of a prompt but the newest that a request may hold. */
export function imagesOver(messages: readonly PromptMessage[]): ReadonlySet<Block> {
  // Nearly every prompt has none: nothing is copied for it.
  let count = 0
  for (const message of messages) count += countImages(message)
  if (count <= policy.imagesMax) return none
  return new Set(
    mediaOf(messages)
      .filter(({ type }) => type === 'image')
      .slice(0, -policy.imagesMax),
  )
}

function countImages(message: PromptMessage): number {
  let count = 0
  if (message.role === 'user') for (const { type } of message.content) count += type === 'image' ? 1 : 0
  if (message.role !== 'tool') return count
  for (const { output } of message.results)
    if (output.type === 'content') for (const { type } of output.value) count += type === 'image' ? 1 : 0
  return count
}

const none: ReadonlySet<Block> = new Set()

function isMedia(block: UserBlock): block is Block {
  return block.type !== 'text'
}

/** How adapters call a group of media types in their errors. */
function topOf(mediaType: string): string {
  return mediaType === 'application/pdf' ? 'pdf' : (mediaType.split('/', 1)[0] as string)
}

function nameOf({ kind, mediaType }: Exclude<Source, { kind: 'invalid' }>): string {
  return kind === 'url' ? `${mediaType} by its address` : mediaType
}

/** Addresses that some provider reads: of the web, and of the stores of Google and Amazon. */
const reachable = new Set(['http:', 'https:', 'gs:', 's3:'])

function sourceOf(block: Block): Source {
  const mediaType = mediaTypeOf(block)
  const { url } = block
  const data = 'data' in block ? block.data : undefined
  if (data !== undefined) return data.startsWith('data:') ? fromDataUrl(data, mediaType) : fromBase64(data, mediaType)
  if (url?.slice(0, 5).toLowerCase() === 'data:') return fromDataUrl(url, mediaType)
  if (url !== undefined && URL.canParse(url)) {
    const address = new URL(url)
    if (reachable.has(address.protocol)) return { kind: 'url', mediaType, url: address }
    return { kind: 'invalid', why: `no provider can read an address that begins with ${address.protocol.slice(0, 20)}` }
  }
  return { kind: 'invalid', why: `${JSON.stringify((url ?? '').slice(0, 200).toWellFormed())} is not a valid address` }
}

const otherNames = new Map([
  ['image/jpg', 'image/jpeg'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['audio/vnd.wave', 'audio/wav'],
  ['audio/mp3', 'audio/mpeg'],
  ['application/x-pdf', 'application/pdf'],
])

/** The type in lower case, without parameters. A type that names only a form, such as `png`, gets the group of its block. */
function mediaTypeOf({ type, mediaType }: { readonly type: string; readonly mediaType: string }): string {
  const plain = (mediaType.split(';', 1)[0] as string).trim().toLowerCase()
  if (plain === '') return type === 'file' ? 'application/octet-stream' : type
  const whole = plain.includes('/') || plain === type || type === 'file' ? plain : `${type}/${plain}`
  return otherNames.get(whole) ?? whole
}

/** The media type in such an address counts, because it belongs to the bytes. */
function fromDataUrl(url: string, given: string): Source {
  const comma = url.indexOf(',')
  if (comma < 0) return { kind: 'invalid', why: 'its data: address holds no data' }
  const header = url.slice('data:'.length, comma)
  const named = header.split(';', 1)[0] as string
  const mediaType = named.includes('/') ? mediaTypeOf({ type: 'file', mediaType: named }) : given
  const body = url.slice(comma + 1)
  if (/;\s*base64\s*$/i.test(header)) return fromBase64(decoded(body), mediaType)
  return fromBase64(Buffer.from(decoded(body)).toString('base64'), mediaType)
}

function decoded(text: string): string {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text
  } catch {
    return text
  }
}

function fromBase64(text: string, mediaType: string): Source {
  const base64 = text.replaceAll(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/')
  if (base64 === '') return { kind: 'invalid', why: 'it is empty' }
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return { kind: 'invalid', why: 'its data is not base64' }
  // Providers refuse bytes whose type is not the one that they are told.
  return { kind: 'data', mediaType: contradiction(mediaType, base64) ?? mediaType, base64 }
}

function textPart(base64: string, filename: string | undefined): UserPart {
  const text = withoutSenderLines(Buffer.from(base64, 'base64').toString('utf8').toWellFormed())
  return { type: 'text', text: filename === undefined ? text : `(file ${JSON.stringify(filename)})\n${text}` }
}

/** Stands in place of a part that cannot be sent. The model can then ask for it, or read it with a tool. */
function note(block: Block, why: string): UserPart {
  const filename = 'filename' in block ? block.filename : undefined
  const what =
    filename === undefined ? block.type : `${block.type} ${JSON.stringify(filename.slice(0, 200).toWellFormed())}`
  const address =
    block.url !== undefined && /^https?:/i.test(block.url) ? `: ${block.url.slice(0, 1_000).toWellFormed()}` : ''
  return { type: 'text', text: `(${what} left out: ${why}${address})` }
}
