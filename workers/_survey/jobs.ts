/**
 * Duty: the three things that are done with the file system, as jobs a thread can be given: plan how a part is shared out, read a
 * part, look copies up. Each opens the surveyed folder anew, by its real path.
 */
import type { Content } from './contents.ts'
import { type CopyGroup, locateCopies } from './copies.ts'
import { OpenFolder } from './folder.ts'
import type { Part } from './part.ts'
import { decodePath, type PathText } from './path.ts'
import { type Plan, planPart, type Room } from './plan.ts'
import { readPart } from './reading.ts'
import { reasonOf } from './reason.ts'
import type { Summary } from './summary.ts'
import type { Checkpoint } from './walk.ts'

export type Job =
  | { readonly kind: 'plan'; readonly part: Part; readonly room: Room }
  | { readonly kind: 'read'; readonly part: Part }
  | { readonly kind: 'locate'; readonly top: PathText; readonly contents: readonly Content[] }

export interface Found {
  readonly plan: Plan
  readonly read: Summary
  readonly locate: readonly CopyGroup[]
}

export type Answer<Value> =
  | { readonly kind: 'found'; readonly value: Value }
  /** The surveyed folder itself could not be opened. */
  | { readonly kind: 'unopened'; readonly reason: string }

export function runJob(job: Job, checkpoint: Checkpoint): Answer<Found[Job['kind']]> {
  let top: OpenFolder
  try {
    top = OpenFolder.openTop(decodePath(job.kind === 'locate' ? job.top : job.part.top))
  } catch (error) {
    return { kind: 'unopened', reason: reasonOf(error) }
  }
  try {
    return { kind: 'found', value: work(top, job, checkpoint) }
  } finally {
    top.close()
  }
}

function work(top: OpenFolder, job: Job, checkpoint: Checkpoint): Found[Job['kind']] {
  switch (job.kind) {
    case 'plan':
      return planPart(top, job.part, job.room, checkpoint)
    case 'read':
      return readPart(top, job.part, checkpoint)
    case 'locate':
      return locateCopies(top, job.contents, checkpoint)
  }
}
