/**
 * One starter at a time in a folder. The lock is a file with its holder's process id and, where the system says so, its beginning; that of
 * a dead process does not count. Where only the id is known, one does not count that nobody can still hold.
 * It is held only while a server starts, so waiting for it is short.
 */
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beginningOf, isAlive } from './program.ts'

/** Longer than a start can take, with a leftover server to be ended and other ports to be tried. */
const heldMsMax = 240_000

/** Returns what gives the lock back, or undefined when another process holds it. */
export async function takeStartLock(folder: string): Promise<(() => Promise<void>) | undefined> {
  const lock = join(folder, 'start.lock')
  const own = `${lock}.${process.pid}`
  await writeFile(own, [process.pid, await beginningOf(process.pid)].join(' ').trim())
  try {
    if (await isHeldByDead(lock)) await removeStale(lock, own)
    return (await isTaken(own, lock)) ? () => rm(lock, { force: true }) : undefined
  } finally {
    await rm(own, { force: true })
  }
}

/** Linking a complete file is atomic, so a lock without its holder's id is never seen. */
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
 * By one process at a time, which looks again: as long as it removes the lock nobody else can, so what is removed is not a lock that was
 * taken just now.
 */
async function removeStale(lock: string, own: string): Promise<void> {
  const removal = `${lock}.removal`
  // Of a process that ended in the middle of it. Whoever comes next removes the lock.
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
  // A power cut can leave a file without its content.
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return true
  // Ids are given again, after a restart of the machine or of a container above all.
  const now = await beginningOf(pid)
  if (beginning !== undefined && now !== undefined) return beginning !== now
  const found = await stat(lock).catch(() => undefined)
  // A lock that is to be held later is one of before the clock was set back.
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > heldMsMax
}
