/** The lock that allows only one installation at a time, with owners that were killed, suspended or asleep. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { waitUntil } from '../support/time/wait-until.ts'
import { notes, Project, waits } from './support/project.ts'

const hourMs = 3_600_000

type Installation = ReturnType<Project['install']>

/** Makes it look as if nobody had touched it for an hour. */
function age(path: string): Promise<void> {
  const at = new Date(Date.now() - hourMs)
  return utimes(path, at, at)
}

/** A clock that advances by an hour with each reading, as a clock does while the machine sleeps. */
const jumpingClocks = `
let now = Date.now()
Date.now = performance.now = () => (now += ${hourMs})
`

/** Lets the parent of the process get the lock before or after (`when`) the first call of this function. */
function parentTakesLock(when: 'before' | 'after', called: 'mkdir' | 'rename'): string {
  return `
const fs = require('node:fs/promises')
const { syncBuiltinESMExports } = require('node:module')
const { ${called}: real } = fs
const take = () => fs.writeFile('node_modules.lock/pid', String(process.ppid))
fs.${called} = async (...args) => {
  fs.${called} = real
  syncBuiltinESMExports()
  ${when === 'before' ? 'await take(); await real(...args)' : 'await real(...args); await take()'}
}
syncBuiltinESMExports()
`
}

/** Lets another process try to get the lock as soon as a lock was renamed that the parent had just taken. */
const thirdTries = `
const { mkdir, rename, writeFile } = require('node:fs/promises')
const fs = require('node:fs/promises')
const { syncBuiltinESMExports } = require('node:module')
fs.rename = async (...args) => {
  fs.rename = rename
  syncBuiltinESMExports()
  await writeFile('node_modules.lock/pid', String(process.ppid))
  await rename(...args)
  await mkdir('node_modules.lock').then(() => writeFile('node_modules.lock/pid', '1'), () => {})
}
syncBuiltinESMExports()
`

/** The first process installs; the second one waits and uses the installation. */
const oneInstallation = { codes: [0, 0], told: waits, runs: 1 }

async function outcome(project: Project, first: Installation, second: Installation): Promise<typeof oneInstallation> {
  const codes = [(await first.end).code, (await second.end).code] as number[]
  return { codes, told: second.printed.stderr, runs: await project.runs() }
}

describe('the lock of npm ci', () => {
  test('the lock of npm ci makes a process wait for a running installation and use it', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const first = project.install()
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    const second = project.install()
    await waitUntil('the second waits', () => second.printed.stderr)
    await project.write('go')
    expect(await outcome(project, first, second)).toEqual(oneInstallation)
  })

  test('the lock of npm ci is taken from a process that was killed', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const killed = project.install()
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    killed.child.kill('SIGKILL')
    await killed.end
    expect(existsSync(project.path('node_modules.lock/pid'))).toBe(true)
    await rm(project.path('slow'))
    expect((await project.install().end).code).toBe(0)
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test('the lock of npm ci makes a process wait for the npm of a killed process and use its installation', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const killed = project.install()
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    killed.child.kill('SIGKILL')
    await killed.end
    const next = project.install()
    await waitUntil('the next one says what it does', () => next.printed.stderr)
    await project.write('go')
    expect(await next.end).toMatchObject({ code: 0, stderr: waits })
    expect(await project.runs()).toBe(1)
  })

  test('the lock of npm ci is taken from a process that was killed long ago, even if another process has its id by now', async () => {
    await using project = await Project.make()
    await mkdir(project.path('node_modules.lock'))
    await project.write('node_modules.lock/pid', String(process.pid))
    await age(project.path('node_modules.lock/pid'))
    expect((await project.install({ untouchedMs: 300 }).end).code).toBe(0)
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test('the lock of npm ci is taken if it names no owner', async () => {
    await using project = await Project.make()
    await mkdir(project.path('node_modules.lock'))
    expect((await project.install().end).code).toBe(0)
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test.each([
    ['while that of a process that was killed was being removed', '2147483647', parentTakesLock('before', 'rename')],
    ['before its own id was in it', undefined, parentTakesLock('after', 'mkdir')],
    ['while a third one tried to get it as well', '2147483647', thirdTries],
  ])('the lock of npm ci stays with the process that took it %s', async (_, owner, before) => {
    await using project = await Project.make()
    const pid = 'node_modules.lock/pid'
    if (owner) {
      await mkdir(project.path('node_modules.lock'))
      await project.write(pid, owner)
    }
    const { printed, end } = project.install({ before })
    await waitUntil('it waits or installs', () => printed.stderr)
    expect(printed.stderr).toBe(waits)
    expect(await readFile(project.path(pid), 'utf8')).toBe(String(process.pid))
    await rm(project.path('node_modules.lock'), { recursive: true })
    expect((await end).code).toBe(0)
  })

  test('the lock of npm ci stays with its owner as long as the owner touches it', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const first = project.install({ renewMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    const second = project.install({ untouchedMs: 3_000 })
    await waitUntil('the second waits', () => second.printed.stderr)
    const lock = project.path('node_modules.lock')
    const times = new Set<number>()
    // Each takes 20 ms at least: together they are longer than a lock may be untouched.
    await waitUntil('it is said', async () => times.add((await stat(join(lock, 'pid'))).mtimeMs).size > 175)
    await project.write('go')
    expect([(await first.end).code, (await second.end).code]).toEqual([0, 0])
    expect(await project.runs()).toBe(1)
    expect(existsSync(lock)).toBe(false)
  })

  test('the lock of npm ci stays with its owner after the machine has slept, whatever the clock shows', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const first = project.install({ noteMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    await age(project.path('node_modules.lock/pid'))
    const second = project.install({ before: jumpingClocks })
    await waitUntil('the second waits', () => second.printed.stderr)
    const before = notes(first)
    await waitUntil('the first goes on', () => notes(first) > before + 25)
    await project.write('go')
    expect(await outcome(project, first, second)).toEqual(oneInstallation)
  })

  test('the lock of npm ci stays with a suspended owner, and the waiting process says so', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const first = project.install({ renewMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    // Ctrl+Z in a terminal sends this signal.
    first.child.kill('SIGSTOP')
    const second = project.install({ untouchedMs: 2_000 })
    await waitUntil('the second has waited for too long', () => second.printed.stderr.split('\n').length > 2)
    const stopped = `Process ${first.child.pid}, which installs the dependencies, is stopped: continue it (fg) or end it.\n`
    expect(second.printed.stderr).toBe(`${waits}${stopped}`)
    await project.write('go')
    first.child.kill('SIGCONT')
    expect([(await first.end).code, (await second.end).code]).toEqual([0, 0])
    expect(await project.runs()).toBe(1)
  })

  test('a lock that another process has by now is neither touched nor released', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const first = project.install({ noteMs: 20, renewMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    const pid = project.path('node_modules.lock/pid')
    const goesOn = async () => {
      const before = notes(first)
      await waitUntil('the first goes on', () => notes(first) > before + 5)
    }
    await project.write('node_modules.lock/pid', String(process.pid))
    await goesOn()
    await age(pid)
    await goesOn()
    expect((await stat(pid)).mtimeMs).toBeLessThan(Date.now() - hourMs / 2)
    await project.write('go')
    expect((await first.end).code).toBe(0)
    expect(await readFile(pid, 'utf8')).toBe(String(process.pid))
  })

  test('the lock of npm ci is released even while another process reads its owner', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const { end } = project.install()
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    await rename(project.path('node_modules.lock/pid'), project.path('node_modules.lock/pid.1'))
    await project.write('go')
    expect((await end).code).toBe(0)
    expect((await readdir(project.folder)).filter((name) => name.startsWith('node_modules.'))).toEqual([])
  })
})
