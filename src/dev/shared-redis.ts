/**
 * Duty: the Redis of a development folder: one server, shared by all processes that work in the folder. Its data lasts as long as the folder.
 * SHARED-1 At most one server uses the data of the folder: a lock guards each start, and a server that survived its guard is ended first.
 * SHARED-2 The server lives as long as any of its owners, and no longer.
 * SHARED-3 Port and password stay the same from one start to the next while the port is free, so that connected programs find it again.
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

/** The content of address.json: the address of the folder's current or last server. */
interface KnownAddress {
  readonly port: number
  readonly password: string
  /** The id of the folder to which the address belongs. Older versions did not write it. */
  readonly folderId?: string
}

/** Creates the folder, private and ignored by git, and returns its real path. */
export async function prepareFolder(folder: string): Promise<string> {
  await makeFolder(folder)
  await writeFile(join(folder, '.gitignore'), '*\n')
  return realpath(folder)
}

/** Creates missing folders step by step. With `recursive`, Node would retry for ever where no folder can be created, as in /proc. */
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

/** Joins the server that another process started in this folder. Undefined if there is none. */
export async function joinShared(folder: string): Promise<StartedRedis | undefined> {
  const guarded = await joinGuarded(await guardSocket(folder))
  return guarded && joinedRedis(guarded, folder)
}

/** Starts the server of the folder, or joins the one that another process starts first. */
export async function startShared(folder: string, program: ServerProgram): Promise<StartedRedis> {
  const deadline = Date.now() + startMsMax
  for (;;) {
    const release = await takeStartLock(folder)
    if (release) {
      try {
        return (await joinShared(folder)) ?? (await startLocked(folder, program))
      } finally {
        await release()
      }
    }
    const joined = await joinShared(folder)
    if (joined) return joined
    if (Date.now() > deadline) {
      throw new RedisUnavailableError(
        `Another process has been starting a Redis in ${folder} for too long: end that process and try again.`,
      )
    }
    await pause(pollMs)
  }
}

/** The caller holds the start lock, and no guard answers. */
async function startLocked(folder: string, program: ServerProgram): Promise<StartedRedis> {
  const addressFile = join(folder, addressName)
  const folderId = await folderIdOf(folder)
  const known = await readAddress(addressFile, folderId)
  if (known) await endLeftover(known, folder)
  const password = known?.password ?? randomBytes(18).toString('base64url')
  // This must come before the address is written: a folder with an address and no volume was made by an older version.
  const volume = await volumeOf(folder)
  const port = await freePort(known?.port)
  await writeFile(addressFile, JSON.stringify({ port, password, folderId }), { mode: 0o600 })
  const started = await startRedis({ program, folder, password, port, volume })
  await writeFile(addressFile, JSON.stringify({ ...started.address, folderId }), { mode: 0o600 })
  return started
}

/**
 * Reads the address of the folder. An address with another folder id is ignored: the folder is a copy, and the Redis of the original may be in
 * use. (A folder whose device got another number is treated as new.) An address without a folder id counts as this folder's. An address
 * without a password is ignored, because nothing could prove that the server at the port is ours.
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
 * Ends a server of this folder that survived its guard. If the server at the port accepts our password, it is that server. Any other server is
 * left alone. So is one that always closes the connection: a Redis does so only while it ends, or in a container while it starts.
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
          ? `A Redis of ${folder} is still running at port ${address.port} and does not end: end it and try again.`
          : `A server at port ${address.port}, where the Redis of ${folder} was, does not answer, so it may be that Redis: end it, or remove ${join(folder, addressName)}.`,
      )
    }
    await pause(pollMs)
  }
}
