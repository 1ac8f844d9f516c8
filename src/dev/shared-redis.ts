/**
 * Duty: the Redis of a development folder: one server, shared by all processes that work in the folder, as durable as the folder.
 *
 * R1  At most one server uses the folder's data: starting is under a lock, and a server that survived its guard is ended first.
 * R2  The server lives as long as any of its owners, and not longer.
 * R3  Port and password stay the same from one start to the next while the port is free, so what was connected finds it again.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { folderIdOf } from './folder-id.ts'
import { guardSocket, joinGuarded } from './guarded-process.ts'
import { askRedis, type RedisAddress } from './redis-question.ts'
import { RedisUnavailableError } from './redis-unavailable.ts'
import type { ServerProgram } from './server-program.ts'
import { takeStartLock } from './start-lock.ts'
import { freePort, joinedRedis, type StartedRedis, startRedis } from './started-redis.ts'
import { volumeOf } from './volume.ts'

const startMsMax = 120_000
const leftoverMsMax = 10_000
const pollMs = 20
const addressName = 'address.json'

/** What address.json holds: where the folder's last server is or was. */
interface KnownAddress {
  readonly port: number
  readonly password: string
  /** Whose address it is; older versions did not say. */
  readonly folderId?: string
}

/** Makes the folder, private and out of version control, and returns its one true path. */
export async function prepareFolder(folder: string): Promise<string> {
  await makeFolder(folder)
  await writeFile(join(folder, '.gitignore'), '*\n')
  return realpath(folder)
}

/** What is missing of the path, step by step: at once Node would try for ever where a system takes no folder, as in /proc. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    if (await isFolder(folder)) return
    const parent = dirname(folder)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || (await isFolder(parent))) throw error
    await makeFolder(parent)
    await makeFolder(folder)
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/** The server some other process started in this folder; undefined when there is none. */
export async function joinShared(folder: string): Promise<StartedRedis | undefined> {
  const guarded = await joinGuarded(await guardSocket(folder))
  return guarded && joinedRedis(guarded, folder)
}

/** Starts the folder's server, or joins the one that another process starts first. */
export async function startShared(folder: string, program: ServerProgram): Promise<StartedRedis> {
  const deadline = Date.now() + startMsMax
  for (;;) {
    const release = await takeStartLock(folder)
    if (release) {
      try {
        return (await joinShared(folder)) ?? (await startIsolated(folder, program))
      } finally {
        await release()
      }
    }
    const joined = await joinShared(folder)
    if (joined) return joined
    if (Date.now() > deadline) {
      throw new RedisUnavailableError(
        `Another process has been starting a Redis in ${folder} for too long; end it and try again.`,
      )
    }
    await pause(pollMs)
  }
}

/** The caller holds the start lock, and no guard answers. */
async function startIsolated(folder: string, program: ServerProgram): Promise<StartedRedis> {
  const addressFile = join(folder, addressName)
  const folderId = await folderIdOf(folder)
  const known = await readAddress(addressFile, folderId)
  if (known) await endLeftover(known, folder)
  const password = known?.password ?? randomBytes(18).toString('base64url')
  // Before the address is written: only a folder of an older version has one and no volume.
  const volume = await volumeOf(folder)
  const port = await freePort(known?.port)
  await writeFile(addressFile, JSON.stringify({ port, password, folderId }), { mode: 0o600 })
  const started = await startRedis({ program, folder, password, port, volume })
  await writeFile(addressFile, JSON.stringify({ ...started.address, folderId }), { mode: 0o600 })
  return started
}

/**
 * The address of a folder this one is a copy of tells nothing of this one: a Redis there may be in use; a folder whose device got
 * another number gets a port and a password as a new one does. An address that does not say whose it is counts as this folder's; without
 * a password it is none, as then nothing would prove that what answers is ours.
 */
async function readAddress(file: string, folderId: string): Promise<KnownAddress | undefined> {
  try {
    const known = JSON.parse(await readFile(file, 'utf8')) as Partial<KnownAddress>
    const { port = 0, password } = known
    const isWhole = Number.isInteger(port) && port > 0 && port < 65_536 && typeof password === 'string' && password
    return isWhole && (known.folderId ?? folderId) === folderId ? { port, password } : undefined
  } catch {
    return undefined
  }
}

/**
 * Our password proves that what answers at the port is the server of this folder. Anything else there is not our business, nor is who
 * hangs up all the time: a Redis does so only in the moment in which it ends, one in a container also while it starts.
 */
async function endLeftover(address: RedisAddress, folder: string): Promise<void> {
  const deadline = Date.now() + leftoverMsMax
  let onlyHangsUp = true
  for (;;) {
    const answer = await askRedis(address, 'SHUTDOWN NOSAVE')
    const isOurs =
      answer.kind === 'answer' || (answer.kind === 'refusal' && /^(LOADING|BUSY|ERR Errors trying)/.test(answer.text))
    if (answer.kind === 'nobody' || answer.kind === 'stranger' || (answer.kind === 'refusal' && !isOurs)) return
    onlyHangsUp &&= answer.kind === 'hangUp'
    if (Date.now() > deadline) {
      if (onlyHangsUp) return
      throw new RedisUnavailableError(
        isOurs
          ? `A Redis of ${folder} is still running at port ${address.port} and does not end; end it and try again.`
          : `What listens at port ${address.port}, where the Redis of ${folder} was, does not say whether it is that one: end it, or remove ${join(folder, addressName)}.`,
      )
    }
    await pause(pollMs)
  }
}
