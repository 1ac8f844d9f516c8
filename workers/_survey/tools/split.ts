/** Duty: the tools with which a surveyor splits the whole folder among readers, and a reader splits its part among further readers. */
import { defineTool, type ToolContext } from 'troupe'
import { z } from 'zod'
import { wholeOf } from '../plan/order.ts'
import { type Plan, planPart } from '../plan/plan.ts'
import { sharedBefore, shareOutParts, type Tasks, tasksBytesMax } from '../plan/sharing.ts'
import { givenPart } from '../summary/facts.ts'
import { atTop } from '../tree/at-top.ts'
import type { Part } from '../tree/part.ts'
import { decodePath, showPath } from '../tree/path.ts'
import { diskMsMax } from './disk-time.ts'

type SplitPlan = Extract<Plan, { kind: 'split' }>

/** A part is not split into parts of fewer entries than this. A surveyor's number is small, so that a small folder is split too. */
const surveyorWeightMin = 16
const readerWeightMin = 400

const common = {
  input: z.object({}),
  effect: 'pure',
  timeoutMs: diskMsMax,
  outputBytesMax: tasksBytesMax,
  thread: import.meta.url,
} as const

export const splitFolder = defineTool({
  ...common,
  name: 'split_folder',
  description:
    'Plans which reader reads which part of the folder, and returns the tasks for the readers, if there are any.',
  run: (_, context) => sharedBefore(context) ?? splitWhole(context),
})

export const splitPart = defineTool({
  ...common,
  name: 'split_part',
  description: 'Plans how further readers share your part, and returns the tasks for them, if your part is large.',
  run: (_, context) => sharedBefore(context) ?? splitFurther(context),
})

async function splitWhole(context: ToolContext): Promise<Tasks | string> {
  const part = await wholeOf(context)
  const plan = planOrReason(part, context, surveyorWeightMin, 1)
  if (typeof plan === 'string') return `There are no tasks: ${plan}.`
  context.log.info('survey started', { parts: plan.parts.length, workersMax: part.allowance })
  return shareOutParts(part.top, plan, context)
}

function splitFurther(context: ToolContext): Tasks | string {
  const part = givenPart(context)
  const isLarge = part.weight >= 2 * readerWeightMin
  const plan = isLarge ? planOrReason(part, context, readerWeightMin, 2) : 'it is small'
  if (typeof plan !== 'string') return shareOutParts(part.top, plan, context)
  const folder = showPath(decodePath(part.folder)) || '.'
  return `There are no tasks: your part, in the folder ${folder}, is read by one reader.`
}

/** A plan with at least `partsMin` parts, or why there is none. */
function planOrReason(part: Part, context: ToolContext, weightMin: number, partsMin: number): SplitPlan | string {
  const { depth, limits, signal } = context
  const room = { partsMax: limits.children, allowance: part.allowance - 1, weightMin }
  if (depth >= limits.depth || room.partsMax < partsMin || room.allowance < partsMin)
    return 'the limits of this session leave no room for readers'
  const planned = atTop(part.top, (top) => planPart(top, part, room, () => signal.throwIfAborted()))
  if (planned.kind === 'unopened') return `the folder cannot be opened (${planned.reason})`
  const plan = planned.value
  if (plan.kind === 'unreadable') return `the folder cannot be listed (${plan.reason})`
  if (plan.kind === 'empty') return 'the folder is empty'
  return plan.parts.length < partsMin ? 'it cannot be split' : plan
}
