/** The set-up that runs before anything is installed: one installation, whole, whoever asks for it and whatever was killed in it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { waitUntil } from '../support/wait-until.ts'

const source = new URL('../../scripts/dependencies.mjs', import.meta.url).pathname

/** What npm does to node_modules, as far as it matters here. Where it is `slow`, it waits for `go`, and leaves when nobody waits any more. */
const npm = `
const fs = require('node:fs')
if (fs.existsSync('deaf')) for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
fs.appendFileSync('npm-runs', process.argv.slice(2).join(' ') + '\\n')
fs.mkdirSync('node_modules', { recursive: true })
const end = () => {
  if (fs.existsSync('broken')) { console.error('npm error first\\nnpm error second'); process.exit(7) }
  if (fs.existsSync('full')) console.error(fs.readFileSync('full', 'utf8'))
  fs.copyFileSync('package-lock.json', 'node_modules/.package-lock.json')
}
if (!fs.existsSync('slow')) end()
else setInterval(() => {
  if (fs.existsSync('go')) end()
  else if (fs.existsSync('slow')) return
  process.exit()
}, 10)
`

class Project {
  readonly folder: string
  readonly #children: ChildProcess[] = []

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(packages: Record<string, unknown> = { 'node_modules/a': { version: '1.0.0' } }): Promise<Project> {
    const project = new Project(await mkdtemp(join(tmpdir(), 'troupe-set-up-')))
    await mkdir(project.path('scripts'))
    await cp(source, project.path('scripts/dependencies.mjs'))
    await project.write('package-lock.json', JSON.stringify({ packages }))
    await project.write('npm-cli.cjs', npm)
    return project
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  write(name: string, text = ''): Promise<void> {
    return writeFile(this.path(name), text)
  }

  async runs(): Promise<number> {
    const text = await readFile(this.path('npm-runs'), 'utf8').catch(() => '')
    return text.split('\n').length - 1
  }

  /** Resolves when the process has ended, with all that it printed. */
  install({ noteMs = 30_000, renewMs = 10_000, untouchedMs = 60_000, before = '' } = {}) {
    const call = `m.installDependencies(${noteMs}, ${renewMs}, ${untouchedMs})`
    const code = `${before}import('./scripts/dependencies.mjs').then((m) => ${call}).catch((e) => { console.error(e.message); process.exit(1) })`
    const child = spawn(process.execPath, ['-e', code], {
      cwd: this.folder,
      env: { ...process.env, npm_execpath: this.path('npm-cli.cjs') },
    })
    this.#children.push(child)
    const printed = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.stderr += text))
    const end = new Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>((resolve) =>
      child.once('close', (code, signal) => resolve({ code, signal, ...printed })),
    )
    return { child, printed, end }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const hourMs = 3_600_000

/** As if nobody had touched it for an hour. */
function age(path: string): Promise<void> {
  const at = new Date(Date.now() - hourMs)
  return utimes(path, at, at)
}

/** How often npm was said to be still at it. */
function notes({ printed }: ReturnType<Project['install']>): number {
  return printed.stderr.split('still at it').length - 1
}

/** Clocks that go on by an hour whenever somebody looks, as a clock does while the machine sleeps. */
const jumpingClocks = `
let now = Date.now()
Date.now = performance.now = () => (now += ${hourMs})
`

/** Has the parent of the process get the lock `when` the first call of this function is made or has been made. */
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

/** As soon as something was renamed, which the parent of the process had taken just before, another tries to get the lock. */
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

/** Has each call of this function fail. */
function fails(called: string, why: string): string {
  return `
require('node:fs/promises').${called} = async () => {
  throw Object.assign(new Error('${why}'), { code: '${why.split(':')[0]}' })
}
require('node:module').syncBuiltinESMExports()
`
}

const waits = 'Waiting for another installation of the dependencies …\n'
const said = 'Installing dependencies (npm ci) …\n'

describe('installDependencies', () => {
  test('installs once, all that development needs, and is silent on stdout', async () => {
    await using project = await Project.make()
    expect(await project.install().end).toEqual({ code: 0, signal: null, stdout: '', stderr: said })
    expect(await readFile(project.path('npm-runs'), 'utf8')).toMatch(/^ci --ignore-scripts --include=dev --include=opt/)
    expect(await project.install().end).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
    expect(await project.runs()).toBe(1)
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test.each([
    ['what was killed half-way, which has no record', {}, null],
    ['where a version differs', {}, { 'node_modules/a': { version: '0.9.0' } }],
    ['where a package is missing', {}, { 'node_modules/b': { version: '1.0.0' } }],
    [
      'where the content differs',
      { integrity: 'sha512-x' },
      { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-y' } },
    ],
    [
      'where the Node of this platform is missing',
      { optional: true, os: [process.platform], cpu: [process.arch], bin: { node: 'bin/node' } },
      {},
    ],
  ])('installs again %s', async (_, more, packages) => {
    await using project = await Project.make({ 'node_modules/a': { version: '1.0.0', ...more } })
    await mkdir(project.path('node_modules'))
    if (packages !== null) await project.write('node_modules/.package-lock.json', JSON.stringify({ packages }))
    expect((await project.install().end).code).toBe(0)
    expect(await project.runs()).toBe(1)
  })

  test('misses no optional package of another platform', async () => {
    const others = { version: '1.0.0', optional: true, os: ['aix'], cpu: ['mips'], bin: { node: 'bin/node' } }
    await using project = await Project.make({ 'node_modules/a': others, '': {}, 'scripts/node': { version: '1.0.0' } })
    await mkdir(project.path('node_modules'))
    await project.write('node_modules/.package-lock.json', '{"packages":{}}')
    expect((await project.install().end).code).toBe(0)
    expect(await project.runs()).toBe(0)
  })

  test('says what npm said first when it fails, and leaves the way free for the next try', async () => {
    await using project = await Project.make()
    await project.write('broken')
    const { code, stderr } = await project.install().end
    expect([code, stderr]).toEqual([1, `${said}npm ci failed with exit code 7:\nnpm error first\nnpm error second\n`])
    await rm(project.path('broken'))
    expect((await project.install().end).code).toBe(0)
  })

  test('says npm failed where it did not write all files, and ended well', async () => {
    await using project = await Project.make()
    const torn = 'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write'
    await project.write('full', `npm warn old a@1.0.0\n${torn}\n${torn}`)
    const { code, stderr } = await project.install().end
    const why = 'npm ci could not write all files (ENOSPC: no space left on device, write): make room, and try again.'
    expect([code, stderr]).toEqual([1, `${said}${why}\n`])
    // `npm run` would start what is torn there: the Node of the repository.
    expect(existsSync(project.path('node_modules'))).toBe(false)
    await rm(project.path('full'))
    expect((await project.install().end).code).toBe(0)
    expect(await project.runs()).toBe(2)
  })

  test.each([
    ['may not be written', 'mkdir', 'EACCES: permission denied', 'make that folder writable, or use a copy that is'],
    ['is on a full disk', 'writeFile', 'ENOSPC: no space left on device', 'make room, and try again'],
  ])('says what to do where the folder %s, and leaves no lock', async (_, called, why, advice) => {
    await using project = await Project.make()
    const { code, stderr } = await project.install({ before: fails(called, why) }).end
    const sentence = `The dependencies cannot be installed in ${await realpath(project.folder)} (${why}): ${advice}.`
    expect([code, stderr]).toEqual([1, `${sentence}\n`])
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test('waits for an installation that is under way, and takes what it made', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const first = project.install()
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    const second = project.install()
    await waitUntil('the second waits', () => second.printed.stderr)
    await project.write('go')
    expect([(await first.end).code, (await second.end).code]).toEqual([0, 0])
    expect(second.printed.stderr).toBe(waits)
    expect(await project.runs()).toBe(1)
  })

  test('takes the lock of a process that was killed', async () => {
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

  test('waits for the npm of a process that was killed, and takes what it made', async () => {
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

  test('takes the lock of a process that was killed long ago, and whose id another one has by now', async () => {
    await using project = await Project.make()
    await mkdir(project.path('node_modules.lock'))
    await project.write('node_modules.lock/pid', String(process.pid))
    await age(project.path('node_modules.lock/pid'))
    expect((await project.install({ untouchedMs: 300 }).end).code).toBe(0)
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test('takes a lock that got no owner', async () => {
    await using project = await Project.make()
    await mkdir(project.path('node_modules.lock'))
    expect((await project.install().end).code).toBe(0)
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test.each([
    ['while that of a process that was killed was being removed', '2147483647', parentTakesLock('before', 'rename')],
    ['before its own id was in it', undefined, parentTakesLock('after', 'mkdir')],
    ['while a third one tried to get it as well', '2147483647', thirdTries],
  ])('leaves a lock to who took it %s', async (_, owner, before) => {
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

  test('leaves a lock to its holder however long that takes, who says again and again that it is held', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const first = project.install({ renewMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    const second = project.install({ untouchedMs: 1_000 })
    await waitUntil('the second waits', () => second.printed.stderr)
    const lock = project.path('node_modules.lock')
    const times = new Set<number>()
    // Each takes 20 ms at least: together they are longer than a lock may be untouched.
    await waitUntil('it is said', async () => times.add((await stat(join(lock, 'pid'))).mtimeMs).size > 75, 40_000)
    await project.write('go')
    expect([(await first.end).code, (await second.end).code]).toEqual([0, 0])
    expect(await project.runs()).toBe(1)
    expect(existsSync(lock)).toBe(false)
  })

  test('leaves a lock to its holder after the machine has slept, whatever the clocks say', async () => {
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
    expect([(await first.end).code, (await second.end).code]).toEqual([0, 0])
    expect(second.printed.stderr).toBe(waits)
    expect(await project.runs()).toBe(1)
  })

  test('leaves a lock to its holder while that is stopped, and says so', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const first = project.install({ renewMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    // As Ctrl+Z in a terminal does.
    first.child.kill('SIGSTOP')
    const second = project.install({ untouchedMs: 2_000 })
    await waitUntil('the second has waited for too long', () => second.printed.stderr.split('\n').length > 2)
    const stopped = `Process ${first.child.pid}, which installs them, is stopped: let it go on (fg), or end it.\n`
    expect(second.printed.stderr).toBe(`${waits}${stopped}`)
    await project.write('go')
    first.child.kill('SIGCONT')
    expect([(await first.end).code, (await second.end).code]).toEqual([0, 0])
    expect(await project.runs()).toBe(1)
  })

  test('neither renews nor gives back a lock that somebody else has by now', async () => {
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

  test('gives its lock back also while somebody looks whose it is', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const { end } = project.install()
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    await rename(project.path('node_modules.lock/pid'), project.path('node_modules.lock/pid.1'))
    await project.write('go')
    expect((await end).code).toBe(0)
    expect((await readdir(project.folder)).filter((name) => name.startsWith('node_modules.'))).toEqual([])
  })

  test.each<NodeJS.Signals>(['SIGINT', 'SIGTERM'])(
    '%s ends npm also where that would go on to its end',
    async (signal) => {
      await using project = await Project.make()
      await project.write('slow')
      await project.write('deaf')
      const { child, printed, end } = project.install({ noteMs: 20 })
      await waitUntil('npm runs', async () => (await project.runs()) === 1)
      await waitUntil('a note', () => printed.stderr.includes('still at it'))
      child.kill(signal)
      expect((await end).signal).toBe(signal)
      await project.write('go')
      expect((await project.install().end).code).toBe(0)
      expect(await project.runs()).toBe(2)
    },
  )

  test('says that it goes on, and ends npm before a signal ends it', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const { child, printed, end } = project.install({ noteMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    await waitUntil('a note', () => printed.stderr.includes('npm is still at it after 0 s …\n'))
    child.kill('SIGTERM')
    expect((await end).signal).toBe('SIGTERM')
    // npm would have written its record now.
    await project.write('go')
    const next = project.install()
    expect((await next.end).code).toBe(0)
    expect(await project.runs()).toBe(2)
  })
})
