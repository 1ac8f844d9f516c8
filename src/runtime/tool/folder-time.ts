/**
 * Duty: bound how long the folder of a worker may take to open, and how long its files may take to be read before a model call. The system has no bound of
 * its own where a network does not answer: the turn would hold its worker for ever.
 * FOLDER-TIME-1 Nothing can stop a call of the system. Each that hangs holds one of the few threads with which Node opens files, looks up hosts and packs
 *     data, in the whole process. So one look at a place runs at a time, and who comes meanwhile begins none before its end.
 * FOLDER-TIME-2 Nobody gets what was seen before they asked: those who wait share the next look.
 */
import { InputError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'

export interface FolderLook<Found> {
  /** What is looked at. */
  readonly place: string
  /** Looks at the same place that are the same here find the same. Absent: it shares no look. */
  readonly sharedBy?: unknown
  /** What the error says if it takes too long. */
  readonly late: string
  readonly look: () => Promise<Found>
}

interface Running {
  readonly number: number
  readonly sharedBy: unknown
  readonly found: Promise<unknown>
  /** Called at its end. */
  readonly waiting: Set<() => void>
}

/** By place. */
const running = new Map<string, Running>()
let begun = 0

/** A look that takes too long goes on, and its outcome is dropped. */
export async function inFolderTime<Found>(wanted: FolderLook<Found>, mostMs: number = policy.folderMs): Promise<Found> {
  const { place, sharedBy, late } = wanted
  const before = begun
  const { promise: end, reject } = Promise.withResolvers<never>()
  let other = running.get(place)
  const timer = setTimeout(() => {
    const because = other === undefined ? '' : ', because another look at it has not ended'
    reject(
      new InputError(
        `${late} within ${mostMs / 1_000} s${because}: see whether it lies on a network that does not answer.`,
      ),
    )
  }, mostMs)
  try {
    for (; other !== undefined; other = running.get(place)) {
      const isShared = sharedBy !== undefined && other.sharedBy === sharedBy && other.number > before
      if (isShared) return await Promise.race([other.found as Promise<Found>, end])
      await endOf(other, end)
    }
    return await Promise.race([begin(wanted), end])
  } finally {
    clearTimeout(timer)
  }
}

function begin<Found>({ place, sharedBy, look }: FolderLook<Found>): Promise<Found> {
  begun += 1
  const found = look()
  const waiting = new Set<() => void>()
  running.set(place, { number: begun, sharedBy, found, waiting })
  const ended = () => {
    running.delete(place)
    for (const wake of waiting) wake()
  }
  found.then(ended, ended)
  return found
}

/** Leaves nothing at a look that may never end. */
async function endOf({ waiting }: Running, giveUp: Promise<never>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.add(resolve)
  try {
    await Promise.race([promise, giveUp])
  } finally {
    waiting.delete(resolve)
  }
}
