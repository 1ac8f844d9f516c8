/**
 * Duty: define what an author writes for an agent whose tools are known only when it runs, such as those of another server or of a user.
 * RESOLVER-1 What a resolver says of a call is recorded before anything of the call runs, and holds after a crash.
 * RESOLVER-2 Permissions, approvals and the effect class are those of the tool that a call resolves to.
 */
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'
import type { Json } from '../../history/chat/chat-message.ts'
import type { Tool } from '../tool/define-tool.ts'
import type { Recipe } from '../tool/recipe.ts'
import type { HookSelf } from './iteration-context.ts'

/** A call as its model wrote it. */
export interface WrittenCall {
  readonly toolCallId: string
  readonly toolName: string
  /** The arguments. Null if they are no JSON. */
  readonly input: Json
}

/** The tool that a call means; why the call does not run, as its model is told; or nothing, if there is no such tool. */
export type Resolution = Tool | { readonly refuse: string } | null | undefined

export interface ToolResolver {
  /**
   * The tools that the model is told of. Asked once in each turn. While they are the same, return the same array. It may take 30 s. An error fails the
   * attempt, like one of the model.
   */
  availableTools(): readonly Tool[] | Promise<readonly Tool[]>
  /**
   * Says which tool a call means: one of the list, or another one, such as the new name of a tool that was renamed. It may take 30 s. If it throws, the
   * call does not run, and its model is told. After a crash it is asked again for the tool by the name that is recorded.
   */
  resolve(call: WrittenCall, self: HookSelf): Resolution | Promise<Resolution>
  /** The recipe of a tool, by the name of the tool. It takes precedence over the `recipe` of the tool itself. Default: none. */
  dispatchRecipe?(name: string): Recipe<never> | null | undefined
}

export function isResolver(tools: unknown): tools is ToolResolver {
  return typeof tools === 'object' && tools !== null && ('availableTools' in tools || 'resolve' in tools)
}

/** Null: the names of its tools are not known yet. Throws a ConfigError that names the wrong function. */
export function checkResolver(resolver: object): null {
  for (const name of ['availableTools', 'resolve'] as const) {
    const value = (resolver as Partial<ToolResolver>)[name]
    if (typeof value !== 'function')
      throw new ConfigError(`a resolver of tools needs a function ${name}, not ${preview(value)}.`)
  }
  const { dispatchRecipe } = resolver as Partial<ToolResolver>
  if (dispatchRecipe !== undefined && typeof dispatchRecipe !== 'function')
    throw new ConfigError(`dispatchRecipe of a resolver must be a function, not ${preview(dispatchRecipe)}.`)
  return null
}

/** The tools that a definition lists. */
export function listedTools(tools: readonly Tool[] | ToolResolver | undefined): readonly Tool[] {
  return tools === undefined || isResolver(tools) ? noTools : tools
}

const noTools: readonly Tool[] = []
