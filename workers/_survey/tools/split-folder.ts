/** Duty: the tool by which a surveyor shares the whole folder out among readers. */
import { defineTool, type ToolContext } from 'troupe'
import { z } from 'zod'
import { atTop } from '../at-top.ts'
import { wholeOf } from '../order.ts'
import { planPart } from '../plan.ts'
import { sharedBefore, shareOutParts, type Tasks, tasksBytesMax } from '../sharing.ts'
import { diskMsMax } from './disk-time.ts'

/** Small, so that a small folder is shared out, too. */
const weightMin = 16

export const splitFolder = defineTool({
  name: 'split_folder',
  description:
    'Plans which reader reads what of the folder to be surveyed, and gives the tasks for them, if there are any.',
  input: z.object({}),
  effect: 'pure',
  timeoutMs: diskMsMax,
  outputBytesMax: tasksBytesMax,
  thread: import.meta.url,
  run: (_, context) => sharedBefore(context) ?? share(context),
})

async function share(context: ToolContext): Promise<Tasks | string> {
  const { depth, limits, signal, log } = context
  const part = await wholeOf(context)
  const room = { partsMax: limits.children, allowance: part.allowance - 1, weightMin }
  if (depth >= limits.depth || room.partsMax < 1 || room.allowance < 1) {
    return 'There are no tasks: the limits of this session leave no room for readers.'
  }
  const planned = atTop(part.top, (top) => planPart(top, part, room, () => signal.throwIfAborted()))
  if (planned.kind === 'unopened') return `There are no tasks: the folder cannot be opened (${planned.reason}).`
  const plan = planned.value
  if (plan.kind === 'unreadable') return `There are no tasks: the folder cannot be listed (${plan.reason}).`
  if (plan.kind === 'empty') return 'There are no tasks: the folder is empty.'
  log.info('survey started', { parts: plan.parts.length, workersMax: part.allowance })
  return shareOutParts(part.top, plan, context)
}
