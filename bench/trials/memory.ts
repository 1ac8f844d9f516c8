/**
 * Duty: measures how much memory of Redis a worker and a session take beyond their payload (P6): 4 000 idle workers with ten messages of about 500
 * bytes each, and 4 000 finished sessions of one worker. The payload is the sum of the entries of the histories.
 */
import { runsInFlight } from '../contestant.ts'
import { cleanSlate } from '../measure/clean-slate.ts'
import { type KeyMemory, measureKeyMemory } from '../measure/key-memory.ts'
import { historyLength, type KeyOwner } from '../measure/troupe-keys.ts'
import { openBenchTroupe } from '../peers/troupe-runs.ts'
import type { TroupeUnderTest } from '../troupe.ts'
import type { Arena } from './arena.ts'

const idleWorkers = 4_000
const finishedSessions = 4_000
const messagesPerWorker = 10
/** With the fields that the runtime adds, texts of this length make entries of about 500 bytes. */
const messageText = 'x'.repeat(380)
/** A short question; the job answers with the same. */
const questionText = 'x'.repeat(100)

/** How many bytes a worker or a session takes. */
export interface UnitMemory {
  readonly byOwner: Readonly<Record<KeyOwner, number>>
  readonly payload: number
}

export interface MemoryAbovePayload {
  /** The keys of an idle worker, history included, less the entries of the history. */
  readonly idleWorker: number
  /** The bytes of all keys that live as long as a finished session, less the entries of its history. */
  readonly finishedSession: number
  readonly idle: UnitMemory
  readonly finished: UnitMemory
}

export async function measureMemory(arena: Arena): Promise<MemoryAbovePayload> {
  arena.progress(`memory: ${idleWorkers} idle workers with ${messagesPerWorker} messages`)
  const idle = await measureUnits(arena, idleWorkers, async (troupe, namespace) => {
    const conversation = await troupe.converse('echo', messageText)
    const length = () => historyLength(arena.redis, namespace, conversation.workerId)
    while ((await length()) < messagesPerWorker) await conversation.say(messageText)
  })
  arena.progress(`memory: ${finishedSessions} finished sessions of one worker`)
  const finished = await measureUnits(arena, finishedSessions, async (troupe) => {
    await troupe.run('echo', questionText)
  })
  const { history, worker, session, shared } = finished.byOwner
  return {
    idleWorker: idle.byOwner.history + idle.byOwner.worker - idle.payload,
    finishedSession: history + worker + session + shared - finished.payload,
    idle,
    finished,
  }
}

/** The memory of a running but empty system is subtracted. */
async function measureUnits(
  arena: Arena,
  units: number,
  add: (troupe: TroupeUnderTest, namespace: string) => Promise<void>,
): Promise<UnitMemory> {
  await cleanSlate(arena.redis)
  const place = arena.nextPlace()
  const troupe = await openBenchTroupe(place)
  try {
    const before = await measureKeyMemory(arena.redis)
    let left = units
    const lane = async () => {
      while (left-- > 0) await add(troupe, place.namespace)
    }
    await Promise.all(Array.from({ length: runsInFlight }, lane))
    return perUnit(before, await measureKeyMemory(arena.redis), units)
  } finally {
    await troupe.close()
  }
}

function perUnit(before: KeyMemory, after: KeyMemory, units: number): UnitMemory {
  const added = (owner: KeyOwner) => (after.byOwner[owner] - before.byOwner[owner]) / units
  return {
    byOwner: {
      history: added('history'),
      worker: added('worker'),
      session: added('session'),
      shared: added('shared'),
      passing: added('passing'),
    },
    payload: (after.payload - before.payload) / units,
  }
}
