/**
 * Duty: define what an author writes for a tool that is a recipe: calls of other tools, first one after the other, then side by side, and one
 * result of all of them.
 * RECIPE-1 A recipe changes nothing by itself: it is asked again after a crash, and must return the same steps for the same arguments. What its
 *          steps do is recorded step by step, and a step that has ended is not run again.
 */
import type { Json } from '../../history/chat/chat-message.ts'

/** What earlier steps have returned, by the names of their tools. For a tool that ran twice, what it returned last. */
export type SerialContext = Readonly<Record<string, Json>>

export interface RecipeStep {
  /** A tool of the same kind, or its name. */
  readonly tool: string | { readonly name: string }
  /** The arguments of the step; or a function of what the serial steps have returned. Default: none. */
  readonly arguments?: Json | ((serial: SerialContext) => Json)
  /** Names the step in results. Default: the name of its tool. */
  readonly label?: string
}

/** A step that has ended well. */
export interface RecipeResult {
  readonly label: string
  readonly tool: string
  readonly output: Json
}

/** A step that failed, or was not run. */
export interface RecipeError {
  readonly label: string
  readonly tool: string
  readonly error: string
}

export interface RecipeParts {
  /** Serial steps that have ended well, in order: `{ label, tool, output }`. */
  readonly serialResults: readonly RecipeResult[]
  /** The results of the parallel steps, in the order of the recipe. */
  readonly parallelResults: readonly RecipeResult[]
  /** Steps that failed or were not run: `{ label, tool, error }`. */
  readonly errors: readonly RecipeError[]
}

export interface RecipePlan {
  /** These steps run in this order. A step that fails does not keep the next one from running. */
  readonly serial?: readonly RecipeStep[]
  /** These steps run side by side, three at a time, when the serial ones have ended. */
  readonly parallel?: readonly RecipeStep[]
  /** Makes the output of the call. Default: a text with a heading for each step. */
  compose?(parts: RecipeParts): unknown
}

/** Returns the steps for the arguments of a call. Nothing, or no steps: the call runs by the tool's own `run`. */
export type Recipe<Input = unknown> = (input: Input) => RecipePlan | null | undefined

const none = 'No results produced.'

/** The output of a recipe that composes none by itself. */
export function composeResults({ serialResults, parallelResults, errors }: RecipeParts): string {
  const text = (output: Json) => (typeof output === 'string' ? output : JSON.stringify(output, null, 2))
  const section = (title: string, lines: readonly string[]) => (lines.length === 0 ? [] : [`## ${title}`, ...lines])
  const parts = [
    ...section(
      'Sequential Results',
      serialResults.map(({ label, output }, index) => `### Step ${index + 1}: ${label}\n\n${text(output)}`),
    ),
    ...section(
      'Additional Results',
      parallelResults.map(({ label, output }) => `### ${label}\n\n${text(output)}`),
    ),
    ...section(
      'Errors',
      errors.length === 0 ? [] : [errors.map(({ label, error }) => `- **${label}**: ${error}`).join('\n')],
    ),
  ]
  return parts.length === 0 ? none : parts.join('\n\n')
}
