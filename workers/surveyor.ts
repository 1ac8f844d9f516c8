/**
 * Duty: surveys a folder: has readers read its parts, gathers what they reply, and replies with a report in Markdown and the totals.
 * Input: `{ folder }`, an absolute path. Nothing outside it is opened, and links are not followed.
 * V1 A part whose reader failed is missing from the numbers, and the report says so; the others are not lost with it.
 */
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { defineWorker, type Self } from 'troupe'
import { z } from 'zod'
import { type CopyGroup, type CopyTotals, totalCopies } from './_survey/copies.ts'
import {
  type Gathering,
  gather,
  gatheringSchema,
  isGathered,
  seenSummary,
  spawnReaders,
  unreadableSummary,
} from './_survey/gathering.ts'
import { type Part, wholePart } from './_survey/part.ts'
import {
  type BytePath,
  decodePath,
  encodePath,
  fromBytes,
  type PathText,
  pathTextSchema,
  showPath,
  toBytes,
} from './_survey/path.ts'
import { codeOf, reasonOf } from './_survey/reason.ts'
import { writeReport } from './_survey/report.ts'
import type { Summary } from './_survey/summary.ts'
import { inThread } from './_survey/threads.ts'

/** Small, so that a small folder is shared out, too. */
const weightMin = 16

const inputSchema = z.object({
  folder: pathTextSchema,
  /** Workers it may use, itself included; default: as many as the session may have. */
  workers: z.int().min(1).optional(),
})

const stateSchema = z.discriminatedUnion('phase', [
  z.object({ phase: z.literal('idle') }),
  gatheringSchema.extend({ phase: z.literal('gathering'), top: pathTextSchema }),
])
type State = z.infer<typeof stateSchema>

export default defineWorker<State>({
  description: 'Surveys a folder with a tree of readers and replies with a report in Markdown.',
  state: stateSchema,
  initial: { phase: 'idle' },
  input: inputSchema,
  spawns: ['reader'],
  async receive(message, self) {
    if (message.kind === 'input') await begin(inputSchema.parse(message.value), self)
    else if (message.kind === 'result' && self.state.phase === 'gathering') {
      await proceed(self.state.top, gather(self.state, message), self)
    }
  },
})

async function begin(input: z.infer<typeof inputSchema>, self: Self<State>): Promise<void> {
  const found = await findTop(decodePath(input.folder))
  if (found.kind === 'refused') {
    self.fail(found.reason)
    return
  }
  const workers = Math.min(input.workers ?? self.limits.workers, self.limits.workers)
  const part = wholePart(encodePath(found.top), workers)
  await proceed(part.top, await shareOutOrRead(part, self), self)
}

type Top = { readonly kind: 'found'; readonly top: BytePath } | { readonly kind: 'refused'; readonly reason: string }

/** The folder itself may be given by a link; from its real path on none is followed. */
async function findTop(folder: BytePath): Promise<Top> {
  const shown = showPath(folder)
  if (!isAbsolute(folder))
    return { kind: 'refused', reason: `${shown} is not an absolute path: it means nothing to another machine.` }
  try {
    const real = await realpath(toBytes(folder), { encoding: 'buffer' })
    if ((await stat(real)).isDirectory()) return { kind: 'found', top: fromBytes(real) }
    return { kind: 'refused', reason: `${shown} is not a folder.` }
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(codeOf(error))
    return { kind: 'refused', reason: isMissing ? `There is no folder ${shown}.` : `${shown}: ${reasonOf(error)}` }
  }
}

async function shareOutOrRead(part: Part, self: Self<State>): Promise<Gathering> {
  const room = { partsMax: self.limits.children, allowance: part.allowance - 1, weightMin }
  const maySpawn = self.depth < self.limits.depth && room.partsMax > 0 && room.allowance > 0
  if (!maySpawn) {
    const read = await inThread({ kind: 'read', part }, self.signal)
    return alone(read.kind === 'found' ? read.value : unreadableSummary(part, read.reason))
  }
  const planned = await inThread({ kind: 'plan', part, room }, self.signal)
  if (planned.kind === 'unopened') return alone(unreadableSummary(part, planned.reason))
  const plan = planned.value
  if (plan.kind === 'unreadable') return alone(unreadableSummary(part, plan.reason))
  if (plan.kind === 'empty') return alone(seenSummary({ folders: 0, hasOwnFolder: plan.hasOwnFolder }))
  self.log.info('survey started', { parts: plan.parts.length, workersMax: part.allowance })
  return spawnReaders(self, plan)
}

function alone(summary: Summary): Gathering {
  return { waiting: {}, summary }
}

async function proceed(top: PathText, gathering: Gathering, self: Self<State>): Promise<void> {
  if (!isGathered(gathering)) {
    self.setState({ phase: 'gathering', top, ...gathering })
    return
  }
  const { summary } = gathering
  const { files, bytes, lines, unreadable, workers, lostParts } = summary.counts
  const copies = totalCopies(summary.contents)
  const groups = await locate(top, copies, self.signal)
  self.log.info('survey finished', { files, bytes, lines, unreadable, workers })
  self.setState({ phase: 'idle' })
  self.reply({
    markdown: writeReport({ top: decodePath(top), summary, copies, groups }),
    totals: { files, bytes, lines, unreadable, workers },
    isComplete: lostParts === 0,
  })
}

/** Nothing, if the folder cannot be opened any more. */
async function locate(top: PathText, copies: CopyTotals, signal: AbortSignal): Promise<readonly CopyGroup[]> {
  if (copies.worst.length === 0) return []
  const located = await inThread({ kind: 'locate', top, contents: copies.worst }, signal)
  return located.kind === 'found' ? located.value : []
}
