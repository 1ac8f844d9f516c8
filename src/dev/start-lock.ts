/**
 * Duty: locks that are files: let only one process at a time start a server in a folder, or change a file.
 * START-LOCK-1 The lock is a file with the id of its holder and, if the system reports it, the time when that process began. The lock of a dead
 *              process does not count. If only the id is known, a lock does not count once it is older than any start can take.
 * START-LOCK-2 A lock is held only while a server starts, or while a file is changed, so waiting for it is short.
 */
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beginningOf, isAlive } from './program.ts'

/** Longer than a start can take, including ending an old server and trying other ports. */
const heldMsMax = 240_000

/** Several calls of this process may want the same lock at the same time. */
let attempts = 0

/** The lock of those that start a server in this folder. */
export function takeStartLock(folder: string): Promise<(() => Promise<void>) | undefined> {
  return takeLock(join(folder, 'start.lock'))
}

/** Returns a function that releases the lock, which is this file. Undefined if somebody else holds it. */
export async function takeLock(lock: string): Promise<(() => Promise<void>) | undefined> {
  const own = `${lock}.${process.pid}-${++attempts}`
  await writeFile(own, [process.pid, await beginningOf(process.pid)].join(' ').trim())
  try {
    if (await isHeldByDead(lock)) await removeStale(lock, own)
    return (await isTaken(own, lock)) ? () => rm(lock, { force: true }) : undefined
  } finally {
    await rm(own, { force: true })
  }
}

/** Linking a complete file is atomic, so nobody ever sees a lock without the id of its holder. */
async function isTaken(own: string, lock: string): Promise<boolean> {
  try {
    await link(own, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes the lock of a dead process. Only one process at a time may do so, and it checks the lock again, so that it never removes a lock that
 * was taken a moment ago.
 */
async function removeStale(lock: string, own: string): Promise<void> {
  const removal = `${lock}.removal`
  // The removal lock belongs to a process that ended during its removal. The next process removes the start lock.
  if (await isHeldByDead(removal)) await rm(removal, { force: true })
  else if (await isTaken(own, removal)) {
    try {
      if (await isHeldByDead(lock)) await rm(lock, { force: true })
    } finally {
      await rm(removal, { force: true })
    }
  }
}

async function isHeldByDead(lock: string): Promise<boolean> {
  const text = await readFile(lock, 'utf8').catch(() => undefined)
  if (text === undefined) return false
  const [id, beginning] = text.split(' ')
  const pid = Number(id)
  // A power cut can leave an empty file.
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return true
  // Process ids are reused, especially after a restart of the machine or of a container.
  const now = await beginningOf(pid)
  if (beginning !== undefined && now !== undefined) return beginning !== now
  const found = await stat(lock).catch(() => undefined)
  // A lock from the future was taken before the clock was set back.
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > heldMsMax
}
