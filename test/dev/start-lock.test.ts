/** The lock for starting a server in a folder. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, realpath, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { findLocalServer } from '../../src/dev/server-program.ts'
import { startShared } from '../../src/dev/shared-redis.ts'
import { takeStartLock } from '../../src/dev/start-lock.ts'
import { waitUntil } from '../support/time/wait-until.ts'

/** What other processes do just before a file gets a name or loses one. */
const { before } = vi.hoisted(() => {
  // Another file may have loaded what is tested here, without the mock.
  vi.resetModules()
  return { before: [] as (() => Promise<unknown>)[] }
})
vi.mock('node:fs/promises', async (load) => {
  const real = await load<typeof import('node:fs/promises')>()
  const rename: typeof real.rename = async (from, to) => {
    await before.shift()?.()
    return real.rename(from, to)
  }
  const link: typeof real.link = async (from, to) => {
    await before.shift()?.()
    return real.link(from, to)
  }
  return { ...real, rename, link }
})

/** An id that no process has, because ids end far below. */
const nobody = '2147483647'

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-lock-')))
})
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }))

test('a start lock is held by one process at a time, and leaves no file', async () => {
  const release = await takeStartLock(folder)
  expect(await takeStartLock(folder)).toBeUndefined()
  expect(await readdir(folder)).toEqual(['start.lock'])
  await release?.()
  expect(await readdir(folder)).toEqual([])
})

test('a lock that was taken while the lock of a dead process was being removed stays with its holder', async () => {
  const lock = join(folder, 'start.lock')
  await writeFile(lock, nobody)
  const living = String(process.ppid)
  before.push(() => writeFile(lock, living))
  expect(await takeStartLock(folder)).toBeUndefined()
  expect(await readFile(lock, 'utf8')).toBe(living)
  expect(await readdir(folder)).toEqual(['start.lock'])
})

test('a lock whose dead owner was being removed stays with its new holder even if a third process starts', async () => {
  const lock = join(folder, 'start.lock')
  await writeFile(lock, nobody)
  const [living, third] = [String(process.ppid), String(process.pid)]
  before.push(
    () => writeFile(lock, living),
    () => writeFile(lock, third, { flag: 'wx' }).catch(() => {}),
  )
  expect(await takeStartLock(folder)).toBeUndefined()
  expect(await readFile(lock, 'utf8')).toBe(living)
})

test('the lock of a dead process is removed by one process only', async () => {
  const [lock, removal] = [join(folder, 'start.lock'), join(folder, 'start.lock.removal')]
  await writeFile(lock, nobody)
  await writeFile(removal, String(process.ppid))
  expect(await takeStartLock(folder)).toBeUndefined()
  expect(await readFile(lock, 'utf8')).toBe(nobody)
  await writeFile(removal, nobody)
  await waitUntil('it is taken', () => takeStartLock(folder))
  expect(Number.parseInt(await readFile(lock, 'utf8'), 10)).toBe(process.pid)
  expect(await readdir(folder)).toEqual(['start.lock'])
})

const hourMs = 3_600_000

async function setAge(file: string, ms: number): Promise<void> {
  const at = new Date(Date.now() - ms)
  await utimes(file, at, at)
}

test('a lock that only has an age stays with its holder as long as a start may take, even if the clock was set', async () => {
  const lock = join(folder, 'start.lock')
  await writeFile(lock, String(process.ppid))
  expect(await takeStartLock(folder)).toBeUndefined()
  for (const ms of [hourMs, -hourMs]) {
    await writeFile(lock, String(process.ppid))
    await setAge(lock, ms)
    await waitUntil('it is taken', () => takeStartLock(folder))
  }
})

test.skipIf(process.platform !== 'linux')(
  'a lock belongs to the very process that took it, however the clock was set',
  async () => {
    const lock = join(folder, 'start.lock')
    await takeStartLock(folder)
    for (const ms of [hourMs, -hourMs]) {
      await setAge(lock, ms)
      expect(await takeStartLock(folder)).toBeUndefined()
    }
    // The system has given the id of the owner to another process since.
    await writeFile(lock, `${process.pid} 1`)
    await waitUntil('it is taken', () => takeStartLock(folder))
  },
)

test.skipIf(process.platform !== 'linux')('the lock of a zombie process is taken over', async () => {
  // Its parent becomes a program that knows nothing of it, as the first process of a container may; it ends when that is so.
  const ended = 'while [ "$(cat /proc/$$/comm)" != sleep ]; do :; done'
  const parent = spawn('sh', ['-c', `(${ended}) & echo $!; exec sleep 60`], { stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(chunk)
    const stat = await waitUntil('it has ended', async () => {
      const text = await readFile(`/proc/${pid}/stat`, 'utf8')
      return text.includes(') Z ') && text
    })
    await writeFile(join(folder, 'start.lock'), `${pid} ${stat.split(' ')[21]}`)
    expect(await waitUntil('it is taken', () => takeStartLock(folder))).toBeTypeOf('function')
  } finally {
    parent.kill('SIGKILL')
  }
})

test('a process that gets the start lock after another has started a server joins that server', async ({ skip }) => {
  const local = await findLocalServer(process.env.PATH ?? '')
  if (local.kind !== 'found') return skip()
  const first = await startShared(folder, local.program)
  const second = await startShared(folder, local.program)
  expect(second.process.pid).toBe(first.process.pid)
  await Promise.all([first.process.release(), second.process.release()])
})
