/**
 * Duty: reads one part of a folder and replies with its summary. A part that holds much is split once more, among further readers,
 * as long as the depth of the tree and the part's allowance of workers permit.
 */
import { defineWorker, type Self } from 'troupe'
import { z } from 'zod'
import {
  type Gathering,
  gather,
  gatheringSchema,
  isGathered,
  spawnReaders,
  unreadableSummary,
} from './_survey/gathering.ts'
import { type Part, partSchema } from './_survey/part.ts'
import { decodePath, showPath } from './_survey/path.ts'
import { inThread } from './_survey/threads.ts'

/** About how many entries are worth a reader. */
const weightMin = 400

const stateSchema = z.discriminatedUnion('phase', [
  z.object({ phase: z.literal('idle') }),
  gatheringSchema.extend({ phase: z.literal('gathering') }),
])
type State = z.infer<typeof stateSchema>

export default defineWorker<State>({
  description: 'Reads one part of a folder, itself or by further readers, and replies with a summary of it.',
  state: stateSchema,
  initial: { phase: 'idle' },
  input: partSchema,
  spawns: ['reader'],
  async receive(message, self) {
    if (message.kind === 'input') await begin(partSchema.parse(message.value), self)
    else if (message.kind === 'result' && self.state.phase === 'gathering') proceed(gather(self.state, message), self)
  },
})

async function begin(part: Part, self: Self<State>): Promise<void> {
  const room = { partsMax: self.limits.children, allowance: part.allowance - 1, weightMin }
  const maySplit = self.depth < self.limits.depth && room.partsMax > 1 && room.allowance > 1
  if (maySplit && part.weight >= 2 * weightMin) {
    const planned = await inThread({ kind: 'plan', part, room }, self.signal)
    if (planned.kind === 'unopened') return cannotOpen(part, planned.reason, self)
    const plan = planned.value
    if (plan.kind === 'split' && plan.parts.length > 1) return proceed(spawnReaders(self, plan), self)
    if (plan.kind === 'unreadable') return self.reply(unreadableSummary(part, plan.reason))
  }
  const read = await inThread({ kind: 'read', part }, self.signal)
  if (read.kind === 'unopened') cannotOpen(part, read.reason, self)
  else self.reply(read.value)
}

/** Another machine may lack the folder: then this part is lost, and whoever waits for it says so. */
function cannotOpen(part: Part, reason: string, self: Self<State>): void {
  self.fail(`cannot open ${showPath(decodePath(part.top))}: ${reason}`)
}

function proceed(gathering: Gathering, self: Self<State>): void {
  if (isGathered(gathering)) {
    self.setState({ phase: 'idle' })
    self.reply(gathering.summary)
  } else self.setState({ phase: 'gathering', ...gathering })
}
