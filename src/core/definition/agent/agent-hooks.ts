/**
 * Duty: define the functions of an agent kind that steer its loop: when a worker begins, before its model is asked, before
 * and after tool calls, and when its model has answered.
 * HOOKS-1 What a hook decides is recorded, so that a crash does not repeat it with another outcome.
 * HOOKS-2 A hook that fails does what is safe: the input reaches no model, the call does not run, no context is added, the answer stands.
 */
import { didYouMean } from '../../check/closest.ts'
import { isObject } from '../../check/is-object.ts'
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'
import type { FinishReason, Json, ToolOutput, ToolStatus } from '../../history/chat/chat-message.ts'
import type { HookSelf } from './iteration-context.ts'
import { checkProcessors, type Processor } from './processors.ts'

/** A text that the model reads next; at most 10 KiB of it are kept. Nothing: no text. */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook may return nothing at all
export type HookText = string | null | undefined | void

/** A call that may run as far as troupe knows. An approval is asked for after the hook. */
export interface CallToCheck {
  /** Id of the call. */
  readonly toolCallId: string
  /** The tool that runs. */
  readonly toolName: string
  /** The arguments as the model wrote them. */
  readonly input: Json
}

/** Whether a call runs. Nothing: the call runs. With `change` it runs with these arguments, which are checked like those of a model. */
export type CallVerdict =
  | { readonly do: 'continue' }
  | { readonly do: 'change'; readonly arguments: Json }
  | { readonly do: 'refuse'; readonly reason: string }
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook may return nothing at all
  | void

/** The result of a call, as the model gets it. */
export interface CallResult {
  readonly toolCallId: string
  readonly toolName: string
  readonly status: ToolStatus
  readonly output: ToolOutput
}

/** What the model answered. */
export interface AnswerToCheck {
  /** The text of the answer. */
  readonly text: string
  /** Why the model's reply ended. */
  readonly finishReason: FinishReason
  /** How often this hook has asked for more in this run. */
  readonly asked: number
}

export interface AgentHooks {
  /** Called once for a worker, with its first input, before the model is asked. The model reads the text behind that input. If it throws, there is no text. */
  spawn?(input: Json, self: HookSelf): HookText | Promise<HookText>
  /**
   * A processor, or several in their order: each looks at the input of a run before the model is asked, and lets it pass, changes it, ends the run, or has
   * it wait for somebody. If one throws, the run fails; a TransientError has it try again.
   */
  readonly prompt?: Processor | readonly Processor[]
  /** Called for each call before it runs, and before a person is asked about it. If it throws, the call does not run. */
  toolBefore?(call: CallToCheck, self: HookSelf): CallVerdict | Promise<CallVerdict>
  /** Called for each result when all calls of a reply have theirs. The model reads the text after the results. If it throws, there is no text. */
  toolAfter?(result: CallResult, self: HookSelf): HookText | Promise<HookText>
  /**
   * Called when the model has answered. With a text the run does not end: the model reads the text, and is asked once more; at most three times in a
   * run, and within its limits. If it throws, the answer stands.
   */
  stop?(answer: AnswerToCheck, self: HookSelf): HookText | Promise<HookText>
}

const hookNames = ['spawn', 'prompt', 'toolBefore', 'toolAfter', 'stop'] as const

/** Throws a ConfigError that names the wrong hook. */
export function checkHooks(hooks: unknown): void {
  if (hooks === undefined) return
  if (!isObject(hooks)) throw new ConfigError(`hooks must be an object of functions, not ${preview(hooks)}.`)
  for (const [name, hook] of Object.entries(hooks)) {
    if (!hookNames.some((known) => known === name))
      throw new ConfigError(
        `hooks does not know ${JSON.stringify(name)}; it takes ${hookNames.join(', ')}.${didYouMean(name, hookNames)}`,
      )
    if (name === 'prompt') checkProcessors(hook)
    else if (hook !== undefined && typeof hook !== 'function')
      throw new ConfigError(`hooks.${name} must be a function, not ${preview(hook)}.`)
  }
}
