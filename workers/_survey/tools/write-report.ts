/**
 * Duty: the tool with which a surveyor writes the report: it adds up what the readers measured, finds identical files, and sets the report in
 * Markdown with the totals as a fact.
 * SURVEY-REPORT-1 A part whose reader failed is missing from the figures, and the report says so. The other parts are not lost.
 */
import { defineTool, type ToolContext } from 'troupe'
import { z } from 'zod'
import { wholeOf } from '../plan/order.ts'
import { type CopyGroup, type CopyTotals, locateCopies, totalCopies } from '../report/copies.ts'
import { writeReport as reportOf } from '../report/report.ts'
import { gatheredSummary } from '../summary/child-summary.ts'
import { planOf, reportFact } from '../summary/facts.ts'
import { readOrUnreadable } from '../summary/outcome.ts'
import { readPart } from '../summary/reading.ts'
import type { Summary } from '../summary/summary.ts'
import { atTop } from '../tree/at-top.ts'
import { decodePath, type PathText } from '../tree/path.ts'
import { diskMsMax } from './disk-time.ts'

/** How much of the report a model sees: the beginning, which holds the totals. */
const headCharsMax = 3_000

export const writeReport = defineTool({
  name: 'write_report',
  description:
    'Adds up what the readers measured and writes the report of the survey. Shows the totals and the beginning of the report.',
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

/** Returns nothing if the folder can no longer be opened. */
function located(path: PathText, { worst }: CopyTotals, signal: AbortSignal): readonly CopyGroup[] {
  if (worst.length === 0) return []
  const found = atTop(path, (top) => locateCopies(top, worst, () => signal.throwIfAborted()))
  return found.kind === 'found' ? found.value : []
}

/** Cuts the text to whole lines. */
function headOf(markdown: string): string {
  if (markdown.length <= headCharsMax) return markdown
  return markdown.slice(0, markdown.lastIndexOf('\n', headCharsMax) + 1)
}
