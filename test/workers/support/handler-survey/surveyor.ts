/**
 * Duty: the survey by handlers: no model, each step is code. The agents of workers/ are compared with this one, which works in this process and
 * waits for the disk.
 */
import { defineWorker, type Self, TerminalError } from 'troupe'
import { z } from 'zod'
import { findTop, orderSchema } from '../../../../workers/_survey/plan/order.ts'
import { planPart } from '../../../../workers/_survey/plan/plan.ts'
import { type CopyTotals, locateCopies, totalCopies } from '../../../../workers/_survey/report/copies.ts'
import { writeReport } from '../../../../workers/_survey/report/report.ts'
import { readOrUnreadable, seenSummary, unreadableSummary } from '../../../../workers/_survey/summary/outcome.ts'
import { readPart } from '../../../../workers/_survey/summary/reading.ts'
import type { Summary } from '../../../../workers/_survey/summary/summary.ts'
import { atTop } from '../../../../workers/_survey/tree/at-top.ts'
import { type Part, wholePart } from '../../../../workers/_survey/tree/part.ts'
import { decodePath, encodePath, type PathText, pathTextSchema } from '../../../../workers/_survey/tree/path.ts'
import { type Batcher, gather, gatheringSchema, isGathered, spawnReaders } from './batcher.ts'

const weightMin = 16

const stateSchema = z.discriminatedUnion('phase', [
  z.object({ phase: z.literal('idle') }),
  gatheringSchema.extend({ phase: z.literal('gathering'), top: pathTextSchema }),
])
type State = z.infer<typeof stateSchema>

export default defineWorker<State>({
  state: stateSchema,
  initial: { phase: 'idle' },
  input: orderSchema,
  spawns: ['reader'],
  async receive(message, self) {
    self.signal.throwIfAborted()
    if (message.kind === 'input') await begin(orderSchema.parse(message.value), self)
    else if (message.kind === 'result' && self.state.phase === 'gathering') {
      proceed(self.state.top, gather(gatheringSchema.parse(self.state), message), self)
    }
  },
})

async function begin(input: z.infer<typeof orderSchema>, self: Self<State>): Promise<void> {
  try {
    const top = await findTop(decodePath(input.folder))
    const workers = Math.min(input.workers ?? self.limits.workers, self.limits.workers)
    const part = wholePart(encodePath(top), workers)
    proceed(part.top, shareOutOrRead(part, self), self)
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error
    self.fail(error)
  }
}

function shareOutOrRead(part: Part, self: Self<State>): Batcher {
  const room = { partsMax: self.limits.children, allowance: part.allowance - 1, weightMin }
  const checkpoint = () => self.signal.throwIfAborted()
  const maySpawn = self.depth < self.limits.depth && room.partsMax > 0 && room.allowance > 0
  if (!maySpawn)
    return alone(
      readOrUnreadable(
        part,
        atTop(part.top, (top) => readPart(top, part, checkpoint)),
      ),
    )
  const planned = atTop(part.top, (top) => planPart(top, part, room, checkpoint))
  if (planned.kind === 'unopened') return alone(unreadableSummary(part, planned.reason))
  const plan = planned.value
  if (plan.kind === 'unreadable') return alone(unreadableSummary(part, plan.reason))
  if (plan.kind === 'empty') return alone(seenSummary({ folders: 0, hasOwnFolder: plan.hasOwnFolder }))
  return spawnReaders(self, plan)
}

function alone(summary: Summary): Batcher {
  return { waiting: {}, summary }
}

function proceed(top: PathText, batcher: Batcher, self: Self<State>): void {
  if (!isGathered(batcher)) {
    self.setState({ phase: 'gathering', top, ...batcher })
    return
  }
  const { summary } = batcher
  const { files, bytes, lines, unreadable, workers, lostParts } = summary.counts
  const copies = totalCopies(summary.contents)
  self.setState({ phase: 'idle' })
  self.reply({
    markdown: writeReport({ top: decodePath(top), summary, copies, groups: locate(top, copies, self.signal) }),
    totals: { files, bytes, lines, unreadable, workers },
    isComplete: lostParts === 0,
  })
}

function locate(path: PathText, { worst }: CopyTotals, signal: AbortSignal) {
  if (worst.length === 0) return []
  const located = atTop(path, (top) => locateCopies(top, worst, () => signal.throwIfAborted()))
  return located.kind === 'found' ? located.value : []
}
