/** Duty: the tool with which a reader measures its part: it adds up what its own readers measured, or reads the part itself. */
import { defineTool, TerminalError, type ToolContext } from 'troupe'
import { z } from 'zod'
import { gatheredSummary } from '../summary/child-summary.ts'
import { givenPart, planOf, summaryFact } from '../summary/facts.ts'
import { readPart } from '../summary/reading.ts'
import type { Summary } from '../summary/summary.ts'
import { atTop } from '../tree/at-top.ts'
import { decodePath, showPath } from '../tree/path.ts'
import { diskMsMax } from './disk-time.ts'
import { figuresOf } from './figures.ts'

export const measurePart = defineTool({
  name: 'measure_part',
  description:
    'Measures your part, from its files and from what your readers measured. Shows you some of the figures; all of them are passed on.',
  input: z.object({}),
  effect: 'pure',
  timeoutMs: diskMsMax,
  thread: import.meta.url,
  run(_, context) {
    const part = givenPart(context)
    const summary = measure(context)
    context.setFact(summaryFact, summary)
    return { folder: showPath(decodePath(part.folder)) || '.', ...figuresOf(summary) }
  },
})

function measure(context: ToolContext): Summary {
  const plan = planOf(context)
  if (plan !== null) return gatheredSummary(plan, context)
  const part = givenPart(context)
  const read = atTop(part.top, (top) => readPart(top, part, () => context.signal.throwIfAborted()))
  if (read.kind === 'found') return read.value
  // This machine may not have the folder. Then the part is lost, and the parent reports that.
  throw new TerminalError(`cannot open ${showPath(decodePath(part.top))}: ${read.reason}`)
}
