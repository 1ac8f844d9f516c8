/**
 * Duty: run one command, as a separate process, exactly as long as somebody is connected to the guard's socket.
 *
 * Why a process  An owner that is killed with SIGKILL cannot clean up. The kernel closes its connection, and the guard sees that.
 * Owns           the process of the command, the socket, and the folder to remove.
 *
 * GUARD-1 The command ends when its last owner releases it or dies, or when no owner connects in time.
 * GUARD-2 The guard ends when, and only when, the command has ended. Until then its socket answers, so that nobody starts a second command.
 * GUARD-3 The guard and its command are in their own session: Ctrl-C in a terminal reaches the owners, who still need the command.
 *
 * guarded-process.ts starts this program with its order as JSON on stdin, because other users can read command lines.
 * The guard sends one line of JSON to each connection, and accepts one line, "release".
 */
import { spawn } from 'node:child_process'
import { openSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { basename, dirname } from 'node:path'
import type { GuardGreeting, GuardOrder } from './guarded-process.ts'

/** The owner that started this guard connects at once, unless it has died. */
const firstOwnerMsMax = 10_000
/** After this time a command that does not end on SIGTERM is killed. */
const terminationMsMax = 5_000

const order = JSON.parse(readFileSync(0, 'utf8')) as GuardOrder
// Only this user may read the files of the command and use the socket.
process.umask(0o077)

const owners = new Set<Socket>()
const connections = new Set<Socket>()
let isStopping = false

const server = createServer(welcome)
// Node removes a socket by the name to which it was bound. A relative name stays ours, even if the folder is moved and another folder with
// its own socket takes its place.
process.chdir(dirname(order.socket))
server.listen(basename(order.socket))

server.once('error', (error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
})
await new Promise<void>((resolve) => server.once('listening', resolve))

const log = openSync(order.logFile, 'w')
const command = spawn(order.command, order.args, { stdio: ['pipe', log, log] })
command.once('error', finish)
command.once('exit', finish)
// If the command ends before it has read its input, its exit reports that.
command.stdin?.on('error', () => {})
command.stdin?.end(order.input)

const noOwnerTimer = setTimeout(() => {
  if (owners.size === 0) stop()
}, firstOwnerMsMax)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)

function welcome(socket: Socket): void {
  const greeting: GuardGreeting = { isStopping, pid: command.pid ?? 0, note: order.note }
  socket.write(`${JSON.stringify(greeting)}\n`)
  connections.add(socket)
  if (!isStopping) owners.add(socket)
  socket.on('error', () => {})
  // The only message of an owner is that it no longer needs the command. The last owner stays connected until the command has ended.
  socket.once('data', () => {
    owners.delete(socket)
    if (owners.size === 0) stop()
    else socket.end()
  })
  socket.once('close', () => {
    connections.delete(socket)
    owners.delete(socket)
    if (owners.size === 0) stop()
  })
}

function stop(): void {
  if (isStopping) return
  isStopping = true
  command.kill('SIGTERM')
  setTimeout(() => command.kill('SIGKILL'), terminationMsMax)
}

function finish(): void {
  clearTimeout(noOwnerTimer)
  // If the command ended by itself, its folder stays, so that its log can be read.
  if (isStopping && order.removeFolder) rmSync(order.removeFolder, { recursive: true, force: true })
  // Closing removes the file of the socket first, so it never removes the file of a later guard.
  server.close()
  for (const socket of connections) socket.destroy()
  process.exit()
}
