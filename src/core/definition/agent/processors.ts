/**
 * Duty: define what an author writes for the processors of an agent kind: functions that look at the input of a run before its model is asked.
 */
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'
import type { Json } from '../../history/chat/chat-message.ts'
import type { HookSelf } from './iteration-context.ts'

/** What a processor says of an input. Nothing: `continue`. */
export type Processed =
  /** `context`: a text that the model reads behind the input; at most 10 KiB of it are kept. */
  | { readonly do: 'continue'; readonly context?: string | undefined }
  /** The model, the tools and the processors that follow get another input. */
  | { readonly do: 'transform'; readonly input: unknown; readonly context?: string | undefined }
  /** The run fails with `input_refused`, and its input is left out of later prompts. */
  | { readonly do: 'abort'; readonly reason: string }
  /** The run waits until somebody has answered. The processor is then called again, with the answer. */
  | {
      readonly do: 'suspend'
      readonly question: string
      /** The answer must be one of these texts. Default: any value. */
      readonly options?: readonly string[] | undefined
      /** After this time the processor is called with an answer of status `expired`. Default: never. */
      readonly expiresMs?: number | undefined
    }
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a processor may return nothing at all
  | void

/** What somebody answered to a processor that was suspended. */
export interface ProcessorAnswer {
  readonly status: 'answered' | 'expired'
  readonly value: unknown
  readonly by: string | null
  readonly reason: string | null
}

export interface ProcessorSelf extends HookSelf {
  /** The answer for which the processor had suspended the run. Null when it is called first. */
  readonly answer: ProcessorAnswer | null
}

/** The history names it by the name of its function: `function checkTone(input, self) { … }`. */
export type Processor = (input: Json, self: ProcessorSelf) => Processed | Promise<Processed>

const none: readonly Processor[] = []

export function processorsOf(prompt: Processor | readonly Processor[] | undefined): readonly Processor[] {
  return prompt === undefined ? none : typeof prompt === 'function' ? [prompt] : prompt
}

/** Throws a ConfigError that names the processor which is wrong. */
export function checkProcessors(prompt: unknown): void {
  if (prompt === undefined || typeof prompt === 'function') return
  if (!Array.isArray(prompt) || prompt.length === 0)
    throw new ConfigError(`hooks.prompt must be a function or a list of functions, not ${preview(prompt)}.`)
  const wrong = prompt.findIndex((one) => typeof one !== 'function')
  if (wrong >= 0) throw new ConfigError(`hooks.prompt[${wrong}] must be a function, not ${preview(prompt[wrong])}.`)
}
