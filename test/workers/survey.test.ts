import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Plan, planPart } from '../../workers/_survey/plan/plan.ts'
import { readPart } from '../../workers/_survey/summary/reading.ts'
import { OpenFolder } from '../../workers/_survey/tree/folder.ts'
import { wholePart } from '../../workers/_survey/tree/part.ts'
import { encodePath, fromBytes, fromText } from '../../workers/_survey/tree/path.ts'
import type { AgentSessionOptions } from './support/agent-session.ts'
import { bytesOf, findTotals, nastyFolder, temporaryFolder, tooDeep, write } from './support/folders.ts'
import type { Outcome, Ran } from './support/session.ts'
import { byAgents, byHandlers, type Survey, type Version } from './support/surveys.ts'

const versions: readonly [string, Version][] = [
  ['agents', byAgents],
  ['handlers', byHandlers],
]

interface Result extends Survey {
  readonly ran: readonly Ran[]
  readonly biggestMessage: number
}

async function survey(version: Version, folder: unknown, options: AgentSessionOptions = {}): Promise<Result> {
  const { outcome, errors, ...rest } = await version({ folder }, options)
  expect(outcome).toMatchObject({ status: 'completed', failure: null })
  expect(errors).toEqual([])
  return { ...(outcome.value as Survey), ...rest }
}

const stop = () => {}

describe.skipIf(process.platform !== 'linux').each(versions)('a survey of a nasty folder, by %s', (_, version) => {
  const cleaning: (() => void)[] = []
  let folder = ''
  beforeAll(async () => {
    folder = await nastyFolder((work) => cleaning.push(work))
  })
  afterAll(() => {
    for (const work of cleaning) work()
  })

  test('a survey of a nasty folder has the totals of find and wc, and reports what it left out', async () => {
    const { totals, markdown, isComplete, ran, biggestMessage } = await survey(version, folder)
    expect(totals).toEqual({ ...findTotals(folder), unreadable: 0, workers: ran.length })
    expect(isComplete).toBe(true)
    expect(biggestMessage).toBeLessThan(700_000)
    expect(markdown).toContain('`.troupe/`, where troupe keeps its own data, is left out.')
    expect(markdown).toMatch(/^\| Links +\| +7 \|/m)
    expect(markdown).toMatch(/^\| Others +\| +2 \|/m)
    expect(markdown).toContain('`new\\nline\\n.ts:1` `TODO one`')
    expect(markdown).toContain('`new\\nline\\n.ts:2` `FIXME(two) x`')
    expect(markdown).toContain('`one long line.js:1` `TODO at the end`')
    expect(markdown).toContain('`ünïcödé/文件.py:1` `TODO 文`')
    expect(markdown).toContain('- `copies/one`\n  - `copies/two`\n')
    expect(markdown).not.toContain('copies/three')
    expect(markdown).toContain('- `package.json` (npm)\n  - 1 runtime: `a`\n  - 2 development: `b, c`')
    expect(markdown).toMatch(/- `broken\/package\.json`: .* \(not understood\)/)
    expect(markdown).not.toContain('hidden')
    expect(markdown).not.toContain('secret')
  })

  test('a survey of a nasty folder is the same with any number of workers and any division of the work', async () => {
    const withoutWorkers = (markdown: string) => markdown.replaceAll(/^.*\bworkers?\b.*$/gim, '')
    const most = await survey(version, folder)
    const { workers: _, ...totals } = most.totals
    for (const limits of [
      { workers: 1 },
      { workers: 2 },
      { workers: 7 },
      { depth: 0 },
      { depth: 1 },
      { children: 1 },
      { children: 3 },
    ]) {
      const fewer = await survey(version, folder, { limits })
      expect(fewer.totals).toEqual({ ...totals, workers: fewer.ran.length })
      expect(withoutWorkers(fewer.markdown)).toBe(withoutWorkers(most.markdown))
    }
  })

  test('a survey of a nasty folder is the same if folders are opened by their paths', () => {
    const part = wholePart(folder, 1)
    const [byDescriptor, byPath] = (['descriptor', 'path'] as const).map((access) => {
      const top = OpenFolder.openTop(fromText(folder), access)
      const summary = readPart(top, part, stop)
      top.close()
      return summary
    })
    expect(byPath).toEqual(byDescriptor)
  })

  test('a survey of a nasty folder reads entries whose path is longer than the system allows', async () => {
    const deep = temporaryFolder()
    tooDeep(deep, 30)
    const { totals } = await survey(version, deep)
    expect(totals).toMatchObject({ files: 30, bytes: 60, lines: 30, unreadable: 0 })
  })
})

describe.each(versions)('the parts of a plan, by %s,', (_, version) => {
  const room = { partsMax: 20, allowance: 199, weightMin: 16 }

  test('the parts of a plan hold every file once, and reach into a chain of single folders', () => {
    const folder = write(temporaryFolder(), {})
    for (let index = 0; index < 400; index++) {
      write(folder, { [`src/main/java/org/some/p${index % 9}/q${index % 37}/File${index}.java`]: 'class X {}\n' })
    }
    write(folder, { 'README.md': 'x\n', 'src/other/x.c': '\n' })
    const top = OpenFolder.openTop(fromText(folder))
    const plan = planPart(top, wholePart(folder, 200), room, stop) as Extract<Plan, { kind: 'split' }>
    expect(plan.parts.length).toBeGreaterThan(8)
    const read = plan.parts.map((part) => readPart(top, part, stop).counts)
    top.close()
    expect(read.reduce((sum, counts) => sum + counts.files, 0)).toBe(402)
    const folders = plan.folders + read.reduce((sum, counts) => sum + counts.folders, 0)
    const found = spawnSync('find', [folder, '-mindepth', '1', '-type', 'd'], { encoding: 'utf8' }).stdout
    expect(folders).toBe(found.trim().split('\n').length)
  })

  test('parts of many files are read by several readers, within the limits', async () => {
    const folder = temporaryFolder()
    for (let index = 0; index < 120; index++) {
      for (let file = 0; file < 30; file++) write(folder, { [`p${index}/s${file % 4}/f${file}`]: `${file}\n` })
    }
    const limits = { workers: 30, children: 4, depth: 2 }
    const { totals, ran } = await survey(version, folder, { limits })
    expect(totals).toEqual({ ...findTotals(folder), unreadable: 0, workers: ran.length })
    expect(ran.length).toBeGreaterThan(5)
    expect(ran.length).toBeLessThanOrEqual(30)
    expect(Math.max(...ran.map((worker) => worker.depth))).toBe(2)
  })
})

describe.each(versions)('a part that is lost, by %s,', (_, version) => {
  const ends: [string, Outcome, string][] = [
    [
      'failed',
      { status: 'failed', value: null, failure: 'the disk is on fire' },
      'its reader failed: the disk is on fire',
    ],
    ['was cancelled', { status: 'cancelled', value: null, failure: null }, 'its reader was cancelled'],
    [
      'replied nonsense',
      { status: 'completed', value: { files: 1 }, failure: null },
      'its reader replied something that is no summary',
    ],
  ]

  test.each(ends)(
    'a part whose reader %s is the only part missing, and the report says so',
    async (_, outcome, reason) => {
      const folder = write(temporaryFolder(), { 'lost/a': 'x\n'.repeat(5) })
      for (let index = 0; index < 20; index++) write(folder, { [`kept/${index}`]: 'y\n', [`lost/${index}`]: 'x\n' })
      const disturb = (worker: Ran) => (worker.name === 'lost' ? outcome : null)
      const { totals, markdown, isComplete, ran } = await survey(version, folder, { disturb })
      expect(isComplete).toBe(false)
      expect(totals).toEqual({ files: 20, bytes: 40, lines: 20, unreadable: 1, workers: ran.length })
      expect(markdown).toContain('**Not complete:** 1 part could not be surveyed')
      expect(markdown).toContain(`- \`lost\`: \`the folder: ${reason}\``)
    },
  )
})

describe('an entry that cannot be read', () => {
  test.skipIf(process.platform === 'win32')(
    'an entry that cannot be read is counted with its reason, as find counts it',
    async () => {
      const folder = write(temporaryFolder(), {
        'open/file': 'a\n',
        'secret file': 'b\nb\n',
        'only listed/file': 'c\n',
        'only listed/sub/file': 'c\n',
        'only entered/file': 'd\n',
        'closed/file': 'e\n',
      })
      chmodSync(folder, 0o755)
      const modes = { 'secret file': 0o000, 'only listed': 0o744, 'only entered': 0o711, closed: 0o700 }
      const withoutOwner = (mode: number) => (usesOthersRights ? mode : (mode & 0o7) * 0o111)
      for (const [name, mode] of Object.entries(modes)) chmodSync(join(folder, name), withoutOwner(mode))
      const { totals, markdown } = surveyUnprivileged(folder)
      for (const name of Object.keys(modes)) chmodSync(join(folder, name), 0o755)
      // `secret file` with its size, and `only listed/file` without: nobody may ask for it.
      expect(totals).toEqual({ files: 3, bytes: 6, lines: 1, unreadable: 5, workers: expect.any(Number) })
      for (const name of ['secret file', 'only listed/file', 'only listed/sub', 'only entered', 'closed']) {
        expect(markdown).toContain(`- \`${name}\`: \`permission denied\``)
      }
    },
  )

  test.skipIf(process.platform === 'win32')('an entry that cannot be read may be the folder itself', () => {
    const folder = write(temporaryFolder(), { file: 'a\n' })
    const inner = join(folder, 'closed')
    mkdirSync(inner)
    chmodSync(folder, 0o755)
    chmodSync(inner, usesOthersRights ? 0o700 : 0o000)
    const { totals, markdown } = surveyUnprivileged(inner)
    chmodSync(inner, 0o755)
    expect(totals).toEqual({ files: 0, bytes: 0, lines: 0, unreadable: 1, workers: 1 })
    expect(markdown).toContain('- `.`: `permission denied`')
  })
})

/** True: the survey runs as another user, for whom the rights of others count; the owner of a file is held to the owner's rights. */
const usesOthersRights = process.getuid?.() === 0 && process.platform !== 'linux'

/**
 * As a user without rights: root may read everything. On Linux root gives up just that right, and can still run what lies in a
 * folder of its own; elsewhere the program runs as nobody.
 */
function surveyUnprivileged(folder: string): Survey {
  const program = join(import.meta.dirname, '../programs/survey-folder.ts')
  const command = [process.execPath, '--conditions=troupe-source', program, folder]
  const isRoot = process.getuid?.() === 0
  if (isRoot && process.platform === 'linux') {
    const rights = '-dac_override,-dac_read_search'
    command.unshift('setpriv', '--bounding-set', rights, '--inh-caps', rights)
  }
  const user = isRoot && process.platform !== 'linux' ? { uid: 65_534, gid: 65_534 } : {}
  const [file = '', ...args] = command
  const env = { PATH: process.env.PATH }
  const { stdout, stderr, error } = spawnSync(file, args, { ...user, cwd: '/', encoding: 'utf8', env })
  if (stdout === '') throw new Error(`the unprivileged survey printed nothing: ${error?.message ?? stderr}`)
  return (JSON.parse(stdout) as Outcome).value as Survey
}

describe.each(versions)('the surveyor, by %s,', (by, version) => {
  const fails = async (input: unknown) => {
    const { outcome } = await version(input)
    expect(outcome.status).toBe('failed')
    return outcome.failure
  }

  test('the surveyor refuses a path that is not a folder, by name', async () => {
    const folder = write(temporaryFolder(), { file: '' })
    const cannot = (name: string, code: string) => `the worker's folder "${folder}/${name}" cannot be opened (${code}).`
    const refusals =
      by === 'handlers'
        ? [
            `There is no folder ${folder}/none.`,
            `${folder}/file is not a folder.`,
            `There is no folder ${folder}/file/x.`,
          ]
        : [cannot('none', 'ENOENT'), cannot('file', 'ENOTDIR'), cannot('file/x', 'ENOTDIR')]
    for (const name of ['none', 'file', 'file/x']) {
      expect(await fails({ folder: join(folder, name) })).toBe(refusals.shift())
    }
    expect(await fails({ folder: 'src' })).toContain('src is not an absolute path')
  })

  test('the surveyor reports no files for an empty folder', async () => {
    const { totals, markdown, ran } = await survey(version, temporaryFolder())
    expect(totals).toEqual({ files: 0, bytes: 0, lines: 0, unreadable: 0, workers: 1 })
    expect(markdown).toContain('No files.')
    expect(ran).toHaveLength(1)
  })

  test('the surveyor surveys a folder that holds only .troupe', async () => {
    const { totals, markdown } = await survey(version, write(temporaryFolder(), { '.troupe/a': 'x' }))
    expect(totals.files).toBe(0)
    expect(markdown).toContain('`.troupe/`')
  })

  test('the surveyor leaves out .troupe only if it is a folder', async () => {
    const { totals, markdown } = await survey(
      version,
      write(temporaryFolder(), { '.troupe': 'a file\n', 'x/.troupe/y': 'y\n' }),
    )
    expect(totals).toMatchObject({ files: 2, lines: 2 })
    expect(markdown).not.toContain('left out')
  })

  test('the surveyor spawns a reader for each part', async () => {
    const folder = temporaryFolder()
    for (const name of ['src', 'test', 'docs']) {
      for (let index = 0; index < 30; index++) write(folder, { [`${name}/${index}`]: '\n' })
    }
    write(folder, { 'README.md': '\n' })
    const { ran } = await survey(version, folder)
    expect(ran.map((worker) => [worker.kind, worker.name, worker.depth])).toEqual([
      ['surveyor', 'surveyor', 0],
      ['reader', 'docs', 1],
      ['reader', 'src', 1],
      ['reader', 'test', 1],
      ['reader', '. (rest)', 1],
    ])
  })

  test.skipIf(process.platform === 'win32')('the surveyor accepts a folder with a name of any bytes', async () => {
    const folder = temporaryFolder()
    const odd = bytesOf(folder, [0xff, 0x0a])
    mkdirSync(odd)
    writeFileSync(Buffer.concat([odd, Buffer.from('/file')]), 'x\n')
    symlinkSync(odd, join(folder, 'link'))
    // The runtime of an agent knows the real path of a link only as text, and this path is not text.
    const links = by === 'handlers' ? [join(folder, 'link')] : []
    for (const given of [encodePath(fromBytes(odd)), ...links]) {
      const { totals, markdown } = await survey(version, given)
      expect(totals).toMatchObject({ files: 1, lines: 1 })
      expect(markdown).toContain(`# Survey of \`${folder}/\\xff\\n\``)
    }
  })

  test('the surveyor accepts a link to the folder', async () => {
    const folder = write(temporaryFolder(), { 'real/file': 'x\n' })
    symlinkSync(join(folder, 'real'), join(folder, 'link'))
    const { totals, markdown } = await survey(version, join(folder, 'link'))
    expect(totals).toMatchObject({ files: 1, lines: 1 })
    expect(markdown).toContain(`# Survey of \`${folder}/real\``)
  })

  test('the surveyor stops when its signal fires', async () => {
    const controller = new AbortController()
    controller.abort(new Error('cancelled by the test'))
    const surveyed = version({ folder: temporaryFolder() }, { signal: controller.signal })
    await expect(surveyed).rejects.toThrow('cancelled by the test')
  })
})
