/** Duty: the tool by which a reader shares its part out among further readers, if it holds much. */
import { defineTool, type ToolContext } from 'troupe'
import { z } from 'zod'
import { atTop } from '../at-top.ts'
import { givenPart } from '../facts.ts'
import { decodePath, showPath } from '../path.ts'
import { planPart } from '../plan.ts'
import { sharedBefore, shareOutParts, type Tasks, tasksBytesMax } from '../sharing.ts'
import { diskMsMax } from './disk-time.ts'

/** About how many entries are worth a reader. */
const weightMin = 400

export const splitPart = defineTool({
  name: 'split_part',
  description:
    'Plans how your part is shared out among further readers, and gives the tasks for them, if it holds much.',
  input: z.object({}),
  effect: 'pure',
  timeoutMs: diskMsMax,
  outputBytesMax: tasksBytesMax,
  thread: import.meta.url,
  run: (_, context) => sharedBefore(context) ?? share(context),
})

function share(context: ToolContext): Tasks | string {
  const { depth, limits, signal } = context
  const part = givenPart(context)
  const room = { partsMax: limits.children, allowance: part.allowance - 1, weightMin }
  const maySplit = depth < limits.depth && room.partsMax > 1 && room.allowance > 1
  if (maySplit && part.weight >= 2 * weightMin) {
    const planned = atTop(part.top, (top) => planPart(top, part, room, () => signal.throwIfAborted()))
    if (planned.kind === 'found' && planned.value.kind === 'split' && planned.value.parts.length > 1) {
      return shareOutParts(part.top, planned.value, context)
    }
  }
  const folder = showPath(decodePath(part.folder)) || '.'
  return `There are no tasks: your part, in the folder ${folder}, is read in one go.`
}
