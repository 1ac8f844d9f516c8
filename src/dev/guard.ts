/**
 * Duty: a process of its own that runs one command for exactly as long as somebody is connected to its socket.
 *
 * Why a process  An owner killed with SIGKILL cannot clean up. The kernel closes its connection for it, and the guard sees that.
 * Owns           the command's process, the socket, and the folder it was told to remove.
 *
 * G1  The command ends when its last owner releases it or dies, or when none comes in time.
 * G2  The guard ends when, and only when, the command has ended; until then its socket answers, so nobody starts a second one.
 * G3  The guard and its command are in a session of their own: Ctrl-C in a terminal reaches the owners, who still need the command.
 *
 * Started by guarded-process.ts with its order as JSON on stdin (what is on a command line, others can read).
 * Says one JSON line to each who connects, hears one line, "release".
 */
import { spawn } from 'node:child_process'
import { openSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { basename, dirname } from 'node:path'
import type { GuardGreeting, GuardOrder } from './guarded-process.ts'

/** An owner that started this guard connects at once, unless it died. */
const firstOwnerMsMax = 10_000
/** A command that does not end when asked to is killed. */
const terminationMsMax = 5_000

const order = JSON.parse(readFileSync(0, 'utf8')) as GuardOrder
// What the command writes, and the socket, belong to this user only.
process.umask(0o077)

const owners = new Set<Socket>()
const everybody = new Set<Socket>()
let isStopping = false

const server = createServer(welcome)
// A socket is removed by the name under which it was bound. By this one it is ours also where the folder was moved or removed meanwhile,
// and another one, with a socket of its own, has taken its place.
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
// A command that ends before it has read its input says so by ending.
command.stdin?.on('error', () => {})
command.stdin?.end(order.input)

const lonely = setTimeout(() => {
  if (owners.size === 0) stop()
}, firstOwnerMsMax)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)

function welcome(socket: Socket): void {
  const greeting: GuardGreeting = { isStopping, pid: command.pid ?? 0, note: order.note }
  socket.write(`${JSON.stringify(greeting)}\n`)
  everybody.add(socket)
  if (!isStopping) owners.add(socket)
  socket.on('error', () => {})
  // The only thing an owner ever says is that it needs the command no more. The last one is kept until the command has ended.
  socket.once('data', () => {
    owners.delete(socket)
    if (owners.size === 0) stop()
    else socket.end()
  })
  socket.once('close', () => {
    everybody.delete(socket)
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
  clearTimeout(lonely)
  // A command that ended by itself leaves its log to whoever wants to know why.
  if (isStopping && order.removeFolder) rmSync(order.removeFolder, { recursive: true, force: true })
  // Closing removes the socket's file first, so it never removes that of a successor.
  server.close()
  for (const socket of everybody) socket.destroy()
  process.exit()
}
