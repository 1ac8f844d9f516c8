/** Duty: the port of a format: how a conversation is read and written, and what the format cannot carry. */
import type { ChatMessage } from '../core/history/chat/chat-message.ts'
import type { Feature } from './parts/features.ts'
import type { Said } from './parts/said.ts'
import type { Source } from './source.ts'

/** The features of a conversation that change or are lost, each with what becomes of it. */
export type Losses = Readonly<Partial<Record<Feature, string>>>

/** What a converter may write in addition to the messages. */
export interface Written {
  /** The id of the conversation, if the format has one. */
  readonly id?: string | undefined
  /** The folder that the conversation belongs to, if the format has one. */
  readonly folder?: string | undefined
}

export interface Format {
  readonly name: string
  /** The name of the format for people. */
  readonly title: string
  /** What is written, in a sentence. */
  readonly form: string
  readonly losses: Losses
  /** True if this is most probably a conversation of this format. It looks at few fields and never throws. */
  fits(source: Source): boolean
  /** Adds the messages to `said`. Throws an InputError that names the place. */
  read(source: Source, said: Said): void
  /**
   * `messages` are in order (PAIRED-1 to PAIRED-3): each call has its result behind it. The answer is a JSON value, or the list of the
   * values of JSON lines.
   */
  write(messages: readonly ChatMessage[], written: Written): Text
}

export type Text = { readonly json: unknown; readonly isCompact?: boolean } | { readonly lines: readonly unknown[] }
