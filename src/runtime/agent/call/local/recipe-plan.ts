/**
 * Duty: ask a recipe for its steps, check their form, and give each of them an id. Pure but for the recipe itself.
 * RECIPE-PLAN-1 The id of a step names its phase, its number and its tool. A recipe that was changed therefore takes no record of another step for its own.
 */
import { ignoreRejection } from '../../../../core/check/ignore-rejection.ts'
import { isObject } from '../../../../core/check/is-object.ts'
import { preview } from '../../../../core/check/preview.ts'
import type { Tool } from '../../../../core/definition/tool/define-tool.ts'
import type { Recipe, RecipePlan, RecipeStep } from '../../../../core/definition/tool/recipe.ts'
import { InputError } from '../../../../core/errors.ts'
import { policy } from '../../../../core/policy.ts'

export interface PlannedStep {
  readonly id: string
  readonly phase: 'serial' | 'parallel'
  readonly tool: string
  readonly label: string
  readonly arguments: RecipeStep['arguments']
}

export interface PlannedRecipe {
  readonly steps: readonly PlannedStep[]
  readonly compose: RecipePlan['compose']
}

/** Null if the recipe has no steps for these arguments. Throws what the recipe throws, and an InputError for steps of a wrong form. */
export function planRecipe(tool: Tool, input: unknown): PlannedRecipe | null {
  const recipe = tool.recipe as Recipe | undefined
  const plan: unknown = recipe?.(input)
  if (plan === null || plan === undefined) return null
  ignoreRejection(plan)
  if (plan instanceof Promise) throw new InputError('it returned a promise, and must return its steps at once')
  if (!isObject(plan)) throw new InputError(`it returned ${preview(plan)}, not { serial, parallel, compose }`)
  const { compose } = plan
  if (compose !== undefined && typeof compose !== 'function')
    throw new InputError(`compose must be a function, not ${preview(compose)}`)
  const steps = [...stepsOf(plan, 'serial'), ...stepsOf(plan, 'parallel')]
  const most = policy.callsPerReply
  if (steps.length > most) throw new InputError(`it has ${steps.length} steps; a recipe may have ${most}`)
  return steps.length === 0 ? null : { steps, compose: compose as RecipePlan['compose'] }
}

function stepsOf(plan: Readonly<Record<string, unknown>>, phase: PlannedStep['phase']): PlannedStep[] {
  const list = plan[phase] ?? []
  if (!Array.isArray(list)) throw new InputError(`${phase} must be a list of steps, not ${preview(list)}`)
  return list.map((step: unknown, index) => {
    const where = `${phase}[${index}]`
    if (!isObject(step)) throw new InputError(`${where} must be a step { tool, arguments }, not ${preview(step)}`)
    const name = isObject(step.tool) ? step.tool.name : step.tool
    if (typeof name !== 'string' || name === '')
      throw new InputError(`${where}.tool must be a tool or its name, not ${preview(step.tool)}`)
    const { label = name } = step
    if (typeof label !== 'string') throw new InputError(`${where}.label must be a text, not ${preview(label)}`)
    const id = `${phase}_${index + 1}_${name}`
    return { id, phase, tool: name, label, arguments: step.arguments as RecipeStep['arguments'] }
  })
}
