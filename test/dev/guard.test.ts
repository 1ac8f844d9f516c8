/** The guard and its owners, with commands other than a Redis: when the command ends, when the guard ends, and who may use them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GuardOrder, guardSocket, joinGuarded, startGuarded } from '../../src/dev/guarded-process.ts'
import { isAlive } from '../../src/dev/program.ts'
import { waitUntil } from '../support/time/wait-until.ts'

let root: string
const spawned = new Set<ChildProcess>()

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-guard-')))
})

afterAll(async () => {
  for (const child of spawned) child.kill('SIGKILL')
  await rm(root, { recursive: true, force: true, maxRetries: 20 })
})

/** A shell script under a guard, in a folder of its own. */
async function orderOf(script: string): Promise<{ folder: string; order: GuardOrder }> {
  const folder = await mkdtemp(join(root, 'command-'))
  const socket = await guardSocket(folder)
  const logFile = join(folder, 'log')
  return { folder, order: { socket, command: '/bin/sh', args: ['-c', script], input: '', logFile, note: '' } }
}

test.concurrent('a command that ignores SIGTERM is killed (GUARD-1)', async () => {
  const { order } = await orderOf("trap '' TERM; while :; do sleep 0.1; done")
  const guarded = await startGuarded(order)
  await guarded.release()
  expect(isAlive(guarded.pid)).toBe(false)
})

test.concurrent('a command to which no owner connects ends (GUARD-1)', async () => {
  const { order } = await orderOf('exec sleep 60')
  const guard = startGuard(order)
  await waitUntil('the guard to end by itself', () => guard.exitCode !== null || guard.signalCode !== null)
  expect(guard.exitCode).toBe(0)
})

test.concurrent('a guard that gets SIGTERM ends its command first (GUARD-2)', async () => {
  const { order } = await orderOf('exec sleep 60')
  const guard = startGuard(order)
  const guarded = await waitUntil('the guard to listen', () => joinGuarded(order.socket))
  guard.kill('SIGTERM')
  await guarded.gone
  expect(isAlive(guarded.pid)).toBe(false)
  await waitUntil('the guard to be gone', () => guard.exitCode === 0)
})

test.concurrent('an owner that connects while the command is ending waits for its end (GUARD-2)', async () => {
  const { folder, order } = await orderOf(
    `trap 'echo > "$0/asked"; until [ -e "$0/go" ]; do sleep 0.02; done; exit' TERM; while :; do sleep 0.02; done`,
  )
  const first = await startGuarded({ ...order, args: [...order.args, folder] })
  const released = first.release()
  await waitUntil('the command to be asked to end', () => existsSync(join(folder, 'asked')))
  let isOver = false
  const second = joinGuarded(order.socket).then((joined) => {
    isOver = true
    return { joined, isAlive: isAlive(first.pid) }
  })
  // A connection that comes after the second is greeted after it.
  const third = connect(order.socket)
  const [greeting] = (await once(third.setEncoding('utf8'), 'data')) as [string]
  expect(JSON.parse(greeting)).toMatchObject({ isStopping: true, pid: first.pid })
  expect(isOver).toBe(false)
  await writeFile(join(folder, 'go'), '')
  expect(await second).toEqual({ joined: undefined, isAlive: false })
  await released
})

test.concurrent('a signal to the process group of its starter does not reach the guard (GUARD-3)', async () => {
  const { order } = await orderOf('exec sleep 60')
  const starter = startStarter(order, 'setInterval(() => {}, 60_000)')
  const [said] = (await once(starter.stdout.setEncoding('utf8'), 'data')) as [string]
  const other = await joinGuarded(order.socket)
  expect(other?.pid).toBe(Number(said))
  // A terminal sends this signal to the whole group at Ctrl+C.
  process.kill(-(starter.pid as number), 'SIGINT')
  await waitUntil('the starter to be gone', () => starter.signalCode === 'SIGINT')
  const third = await joinGuarded(order.socket)
  expect(third?.pid).toBe(Number(said))
  await Promise.all([other?.release(), third?.release()])
})

test.concurrent('an owner without other work ends, and the command ends with it (GUARDED-2)', async () => {
  const { order } = await orderOf('exec sleep 60')
  const starter = startStarter(order, '')
  const [said] = (await once(starter.stdout.setEncoding('utf8'), 'data')) as [string]
  await waitUntil('the owner to end', () => starter.exitCode !== null)
  expect(starter.exitCode).toBe(0)
  await waitUntil('the command to be gone', () => !isAlive(Number(said)))
})

test.concurrent('no other user can read the output of the command or connect to its guard', async () => {
  const { folder, order } = await orderOf('echo > "$0/written"; while :; do sleep 0.05; done')
  await chmod(folder, 0o755)
  const guarded = await startGuarded({ ...order, args: [...order.args, folder] })
  await waitUntil('the command to have written', () => existsSync(join(folder, 'written')))
  for (const file of [order.socket, order.logFile, join(folder, 'written')])
    expect((await stat(file)).mode & 0o077).toBe(0)
  await guarded.release()
})

/** A process in its own group that starts the command, prints its process id, and then runs this code. */
function startStarter(order: GuardOrder, behind: string) {
  const module = new URL('../../src/dev/guarded-process.ts', import.meta.url).href
  const program = `
    import { startGuarded } from ${JSON.stringify(module)}
    const guarded = await startGuarded(${JSON.stringify(order)})
    process.stdout.write(String(guarded.pid))
    ${behind}`
  const starter = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  spawned.add(starter)
  return starter
}

/** A guard without any owner. */
function startGuard(order: GuardOrder) {
  const program = fileURLToPath(new URL('../../src/dev/guard.ts', import.meta.url))
  const guard = spawn(process.execPath, [program], { stdio: ['pipe', 'ignore', 'inherit'] })
  spawned.add(guard)
  guard.stdin.end(JSON.stringify(order))
  return guard
}
