/**
 * Duty: the owner's side of guard.ts: start a guarded command, join a running one, release it.
 * GUARDED-1 An owner holds its share only by an open connection. It cannot forget to release it.
 * GUARDED-2 Holding a share keeps no process alive: the connection and the guard are unreferenced.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstat, mkdir, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { folderIdOf } from './folder-id.ts'
import { RedisUnavailableError } from './redis-unavailable.ts'

export interface GuardOrder {
  readonly socket: string
  readonly command: string
  readonly args: readonly string[]
  /** Written to the stdin of the command. */
  readonly input: string
  /** Gets all output of the command. */
  readonly logFile: string
  /** Removed when the command has been ended because nobody needs it any more. */
  readonly removeFolder?: string | undefined
  /** Sent to everybody who joins. */
  readonly note: string
}

export interface GuardGreeting {
  readonly isStopping: boolean
  readonly pid: number
  readonly note: string
}

export interface GuardedProcess {
  readonly pid: number
  readonly note: string
  /** Resolves when the command has ended for any reason, or after this owner has released it. */
  readonly gone: Promise<void>
  readonly isGone: boolean
  /** Releases the command. Resolves when it has ended, or at once if other owners need it. Safe to call twice. */
  release(): Promise<void>
}

const guardStartMsMax = 10_000
const greetingMsMax = 5_000
const pollMs = 10
/** The path of a socket may have 108 bytes on Linux and 104 on macOS. */
const socketPathBytesMax = 100

/**
 * The socket of a folder's guard: in the folder; or, if that path is too long for a socket, in a private folder of /tmp. There the socket is
 * named by the id of the folder and not by its path, because another folder may take the place of a moved one and must not find its guard.
 */
export async function guardSocket(folder: string): Promise<string> {
  const socket = join(folder, 'guard.sock')
  if (Buffer.byteLength(socket) <= socketPathBytesMax) return socket
  const uid = process.getuid?.() ?? 0
  const home = `/tmp/troupe-${uid}`
  await mkdir(home, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  // Any user can create a folder of that name in /tmp. Only a folder of the current user is safe.
  const found = await lstat(home)
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new RedisUnavailableError(
      `${home} must be a folder of the current user that nobody else can enter: remove it, or move ${folder} to a shorter path.`,
    )
  }
  return join(
    home,
    `${createHash('sha256')
      .update(await folderIdOf(folder))
      .digest('hex')
      .slice(0, 32)}.sock`,
  )
}

/** Starts a command under a guard. The caller must ensure that nobody else does so with the same socket at the same time. */
export async function startGuarded(order: GuardOrder): Promise<GuardedProcess> {
  // A guard that was killed leaves a socket on which nobody listens.
  await rm(order.socket, { force: true })
  const program = fileURLToPath(import.meta.url).endsWith('.ts') ? './guard.ts' : './guard.js'
  const guard = spawn(process.execPath, [fileURLToPath(new URL(program, import.meta.url))], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  const guardEnded = new Promise<void>((resolve) => guard.once('exit', () => resolve()).once('error', () => resolve()))
  guard.stdin.on('error', () => {})
  guard.stdin.end(JSON.stringify(order))

  let hasEnded = false
  void guardEnded.then(() => (hasEnded = true))
  const deadline = Date.now() + guardStartMsMax
  while (Date.now() < deadline) {
    const joined = await joinGuarded(order.socket)
    if (joined) return joined
    if (hasEnded) return endedAlready
    await pause(pollMs)
  }
  guard.kill('SIGKILL')
  throw new RedisUnavailableError(
    `The process that guards ${order.command} did not start within ${guardStartMsMax / 1000} s: try again when this machine has less to do.`,
  )
}

/** A command that ended before its starter could connect. */
const endedAlready: GuardedProcess = {
  pid: 0,
  note: '',
  gone: Promise.resolve(),
  isGone: true,
  release: async () => {},
}

/** Joins the guarded command at a socket. Undefined if there is none. If the command is stopping, waits for its end first. */
export async function joinGuarded(path: string): Promise<GuardedProcess | undefined> {
  const socket = connect(path)
  socket.on('error', () => {})
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const greeting = await Promise.race([firstLine(socket), gone, pause(greetingMsMax, 'silence', { ref: false })])
  if (!greeting) return undefined
  if (greeting === 'silence') {
    throw new RedisUnavailableError(`The process that listens at ${path} does not answer: end it, and try again.`)
  }
  const { isStopping, pid, note } = JSON.parse(greeting) as GuardGreeting
  if (isStopping) {
    await gone
    return undefined
  }
  socket.unref()
  let isGone = false
  void gone.then(() => (isGone = true))
  return {
    pid,
    note,
    gone,
    get isGone() {
      return isGone
    },
    async release() {
      if (isGone) return
      socket.ref()
      socket.write('release\n')
      await gone
    },
  }
}

function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      received += text
      if (received.includes('\n')) resolve(received.slice(0, received.indexOf('\n')))
    })
  })
}
