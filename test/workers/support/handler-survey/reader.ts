/** Duty: the reader of the survey by handlers: reads one part, or has further readers read it. */
import { defineWorker, type Self } from 'troupe'
import { z } from 'zod'
import { planPart } from '../../../../workers/_survey/plan/plan.ts'
import { unreadableSummary } from '../../../../workers/_survey/summary/outcome.ts'
import { readPart } from '../../../../workers/_survey/summary/reading.ts'
import { atTop } from '../../../../workers/_survey/tree/at-top.ts'
import { type Part, partSchema } from '../../../../workers/_survey/tree/part.ts'
import { decodePath, showPath } from '../../../../workers/_survey/tree/path.ts'
import { type Batcher, gather, gatheringSchema, isGathered, spawnReaders } from './batcher.ts'

const weightMin = 400

const stateSchema = z.discriminatedUnion('phase', [
  z.object({ phase: z.literal('idle') }),
  gatheringSchema.extend({ phase: z.literal('gathering') }),
])
type State = z.infer<typeof stateSchema>

export default defineWorker<State>({
  state: stateSchema,
  initial: { phase: 'idle' },
  input: partSchema,
  spawns: ['reader'],
  receive(message, self) {
    self.signal.throwIfAborted()
    if (message.kind === 'input') begin(partSchema.parse(message.value), self)
    else if (message.kind === 'result' && self.state.phase === 'gathering')
      proceed(gather(gatheringSchema.parse(self.state), message), self)
  },
})

function begin(part: Part, self: Self<State>): void {
  const room = { partsMax: self.limits.children, allowance: part.allowance - 1, weightMin }
  const checkpoint = () => self.signal.throwIfAborted()
  const maySplit = self.depth < self.limits.depth && room.partsMax > 1 && room.allowance > 1
  if (maySplit && part.weight >= 2 * weightMin) {
    const planned = atTop(part.top, (top) => planPart(top, part, room, checkpoint))
    const plan = planned.kind === 'found' ? planned.value : null
    if (plan?.kind === 'split' && plan.parts.length > 1) {
      proceed(spawnReaders(self, plan), self)
      return
    }
    if (plan?.kind === 'unreadable') {
      self.reply(unreadableSummary(part, plan.reason))
      return
    }
  }
  const read = atTop(part.top, (top) => readPart(top, part, checkpoint))
  if (read.kind === 'found') self.reply(read.value)
  else self.fail(`cannot open ${showPath(decodePath(part.top))}: ${read.reason}`)
}

function proceed(batcher: Batcher, self: Self<State>): void {
  if (isGathered(batcher)) {
    self.setState({ phase: 'idle' })
    self.reply(batcher.summary)
  } else self.setState({ phase: 'gathering', ...batcher })
}
