/**
 * Duty: the owner's side of guard.ts: start a guarded command, join one that runs, give it back.
 *
 * P1  An owner holds its part by an open connection and by nothing else: it cannot forget to give it back.
 * P2  Holding a part keeps no process alive: the connection and the guard are unreferenced.
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
  /** Given to the command on its stdin. */
  readonly input: string
  /** Gets all that the command says, from its start on. */
  readonly logFile: string
  /** Removed when the command has ended because nobody needed it any more. */
  readonly removeFolder?: string | undefined
  /** Told to everybody who joins. */
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
  /** Resolves when the command has ended, whatever the reason, or when it is no longer ours. */
  readonly gone: Promise<void>
  readonly isGone: boolean
  /** Resolves when the command has ended or, where others need it, is theirs. Safe to call twice. */
  release(): Promise<void>
}

const guardStartMsMax = 10_000
const greetingMsMax = 5_000
const pollMs = 10
/** Paths of sockets have 108 bytes on Linux and 104 on macOS. */
const socketPathBytesMax = 100

/**
 * Where the guard of a folder listens: in the folder, or where its path is too long for a socket, in a private folder of /tmp. There it
 * is named by the folder's id: by its path, whoever takes the place of a folder that was moved would find the guard of that one.
 */
export async function guardSocket(folder: string): Promise<string> {
  const socket = join(folder, 'guard.sock')
  if (Buffer.byteLength(socket) <= socketPathBytesMax) return socket
  const uid = process.getuid?.() ?? 0
  const home = `/tmp/troupe-${uid}`
  await mkdir(home, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  // Anybody can create a folder of that name in /tmp; only our own is safe to talk through.
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

/** Starts a command under a guard. The caller makes sure that nobody else does so at the same socket at the same time. */
export async function startGuarded(order: GuardOrder): Promise<GuardedProcess> {
  // A socket nobody listens at is what a killed guard leaves behind.
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

/** Joins the guarded command at a socket; undefined when there is none. One that is just stopping is waited for. */
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
    let heard = ''
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      heard += text
      if (heard.includes('\n')) resolve(heard.slice(0, heard.indexOf('\n')))
    })
  })
}
