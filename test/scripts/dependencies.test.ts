/** The set-up that runs before anything is installed: its installation, its output and its end. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { waitUntil } from '../support/time/wait-until.ts'
import { Project, said } from './support/project.ts'

/** Makes each call of this function fail. */
function fails(called: string, why: string): string {
  return `
require('node:fs/promises').${called} = async () => {
  throw Object.assign(new Error('${why}'), { code: '${why.split(':')[0]}' })
}
require('node:module').syncBuiltinESMExports()
`
}

/** The cache that npm gets with this home folder. Empty: its usual cache. */
async function cacheAt(project: Project, home: string): Promise<string> {
  const note = `require('node:fs').writeFileSync('cache', process.env.npm_config_cache ?? '')`
  await project.write('npm-cli.cjs', `${note}\n${await readFile(project.path('npm-cli.cjs'), 'utf8')}`)
  const before = `delete process.env.npm_config_cache; process.env.HOME = ${JSON.stringify(home)};`
  expect((await project.install({ before }).end).code).toBe(0)
  return readFile(project.path('cache'), 'utf8')
}

describe('installDependencies', () => {
  test('installDependencies installs once everything that development needs, and prints nothing to stdout', async () => {
    await using project = await Project.make()
    expect(await project.install().end).toEqual({ code: 0, signal: null, stdout: '', stderr: said })
    expect(await readFile(project.path('npm-runs'), 'utf8')).toMatch(/^ci --ignore-scripts --include=dev --include=opt/)
    expect(await project.install().end).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
    expect(await project.runs()).toBe(1)
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test.skipIf(process.platform !== 'linux').each(['/proc', '/dev/null'])(
    'installDependencies gives npm another cache if none can be made in the home (%s)',
    async (home) => {
      await using project = await Project.make()
      expect(await cacheAt(project, home)).toBe(join(await realpath(project.folder), 'node_modules.lock', 'cache'))
      expect(existsSync(project.path('node_modules.lock'))).toBe(false)
    },
  )

  test.skipIf(process.platform === 'win32')(
    'installDependencies leaves npm its usual cache if the home can hold one',
    async () => {
      await using project = await Project.make()
      expect(await cacheAt(project, project.folder)).toBe('')
    },
  )

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

  test('optional packages of other platforms are not required', async () => {
    const others = { version: '1.0.0', optional: true, os: ['aix'], cpu: ['mips'], bin: { node: 'bin/node' } }
    await using project = await Project.make({ 'node_modules/a': others, '': {}, 'scripts/node': { version: '1.0.0' } })
    await mkdir(project.path('node_modules'))
    await project.write('node_modules/.package-lock.json', '{"packages":{}}')
    expect((await project.install().end).code).toBe(0)
    expect(await project.runs()).toBe(0)
  })

  test('installDependencies quotes the beginning of npm’s output when npm fails, and does not block the next attempt', async () => {
    await using project = await Project.make()
    await project.write('broken')
    const { code, stderr } = await project.install().end
    expect([code, stderr]).toEqual([1, `${said}npm ci failed with exit code 7:\nnpm error first\nnpm error second\n`])
    await rm(project.path('broken'))
    expect((await project.install().end).code).toBe(0)
  })

  test('installDependencies reports a failure if npm succeeded without writing all files', async () => {
    await using project = await Project.make()
    const torn = 'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write'
    await project.write('full', `npm warn old a@1.0.0\n${torn}\n${torn}`)
    const { code, stderr } = await project.install().end
    const why =
      'npm ci could not write all files (ENOSPC: no space left on device, write): free some disk space and try again.'
    expect([code, stderr]).toEqual([1, `${said}${why}\n`])
    // `npm run` would start what is torn there: the Node of the repository.
    expect(existsSync(project.path('node_modules'))).toBe(false)
    await rm(project.path('full'))
    expect((await project.install().end).code).toBe(0)
    expect(await project.runs()).toBe(2)
  })

  test.each([
    [
      'may not be written',
      'mkdir',
      'EACCES: permission denied',
      'make that folder writable, or use a copy in a writable folder',
    ],
    ['is on a full disk', 'writeFile', 'ENOSPC: no space left on device', 'free some disk space and try again'],
  ])('installDependencies says what to do if the folder %s, and leaves no lock', async (_, called, why, advice) => {
    await using project = await Project.make()
    const { code, stderr } = await project.install({ before: fails(called, why) }).end
    const sentence = `The dependencies cannot be installed in ${await realpath(project.folder)} (${why}): ${advice}.`
    expect([code, stderr]).toEqual([1, `${sentence}\n`])
    expect(existsSync(project.path('node_modules.lock'))).toBe(false)
  })

  test.each<NodeJS.Signals>(['SIGINT', 'SIGTERM'])('%s ends npm even if npm would go on to its end', async (signal) => {
    await using project = await Project.make()
    await project.write('slow')
    await project.write('deaf')
    const { child, printed, end } = project.install({ noteMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    await waitUntil('a note', () => printed.stderr.includes('still running'))
    child.kill(signal)
    expect((await end).signal).toBe(signal)
    await project.write('go')
    expect((await project.install().end).code).toBe(0)
    expect(await project.runs()).toBe(2)
  })

  test('installDependencies reports that npm is still running, and ends npm before a signal ends it', async () => {
    await using project = await Project.make()
    await project.write('slow')
    const { child, printed, end } = project.install({ noteMs: 20 })
    await waitUntil('npm runs', async () => (await project.runs()) === 1)
    await waitUntil('a note', () => printed.stderr.includes('npm is still running after 0 s …\n'))
    child.kill('SIGTERM')
    expect((await end).signal).toBe('SIGTERM')
    // npm would have written its record now.
    await project.write('go')
    const next = project.install()
    expect((await next.end).code).toBe(0)
    expect(await project.runs()).toBe(2)
  })
})
