/**
 * Duty: the tool by which a surveyor writes the report: adds up what the readers measured, looks identical files up, and establishes
 * the report in Markdown with the totals.
 * V1 A part whose reader failed is missing from the numbers, and the report says so; the others are not lost with it.
 */
import { defineTool, type ToolContext } from 'troupe'
import { z } from 'zod'
import { atTop } from '../at-top.ts'
import { gatheredSummary } from '../child-summary.ts'
import { type CopyGroup, type CopyTotals, locateCopies, totalCopies } from '../copies.ts'
import { planOf, reportFact } from '../facts.ts'
import { wholeOf } from '../order.ts'
import { readOrUnreadable } from '../outcome.ts'
import { decodePath, type PathText } from '../path.ts'
import { readPart } from '../reading.ts'
import { writeReport as reportOf } from '../report.ts'
import type { Summary } from '../summary.ts'
import { diskMsMax } from './disk-time.ts'

/** Of the report a model sees the beginning, where the sums are. */
const headCharsMax = 3_000

export const writeReport = defineTool({
  name: 'write_report',
  description:
    'Adds up what the readers measured and writes the report of the survey. Gives the totals and the beginning of the report.',
  input: z.object({}),
  effect: 'pure',
  timeoutMs: diskMsMax,
  thread: import.meta.url,
  async run(_, context) {
    const { top, summary } = await surveyed(context)
    const copies = totalCopies(summary.contents)
    const groups = located(top, copies, context.signal)
    const markdown = reportOf({ top: decodePath(top), summary, copies, groups })
    const { files, bytes, lines, unreadable, workers, lostParts } = summary.counts
    const totals = { files, bytes, lines, unreadable, workers }
    const isComplete = lostParts === 0
    context.log.info('survey finished', totals)
    context.setFact(reportFact, { markdown, totals, isComplete })
    return { totals, isComplete, reportBeginsWith: headOf(markdown) }
  },
})

async function surveyed(context: ToolContext): Promise<{ readonly top: PathText; readonly summary: Summary }> {
  const plan = planOf(context)
  if (plan !== null) return { top: plan.top, summary: gatheredSummary(plan, context) }
  const part = await wholeOf(context)
  const read = atTop(part.top, (top) => readPart(top, part, () => context.signal.throwIfAborted()))
  return { top: part.top, summary: readOrUnreadable(part, read) }
}

/** Nothing, if the folder cannot be opened any more. */
function located(path: PathText, { worst }: CopyTotals, signal: AbortSignal): readonly CopyGroup[] {
  if (worst.length === 0) return []
  const found = atTop(path, (top) => locateCopies(top, worst, () => signal.throwIfAborted()))
  return found.kind === 'found' ? found.value : []
}

/** Whole lines. */
function headOf(markdown: string): string {
  if (markdown.length <= headCharsMax) return markdown
  return markdown.slice(0, markdown.lastIndexOf('\n', headCharsMax) + 1)
}
