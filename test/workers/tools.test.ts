import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentWorker, Json, Tool, ToolContext, ToolDefinition } from 'troupe'
import { describe, expect, test } from 'vitest'
import { listedTools } from '../../src/core/definition/agent/tool-resolver.ts'
import { isTool } from '../../src/core/definition/tool/define-tool.ts'
import { openWorkspace } from '../../src/runtime/tool/workspace.ts'
import { folderOf, wholeOf } from '../../workers/_survey/plan/order.ts'
import { listFolder } from '../../workers/_survey/tools/list-folder.ts'
import { measurePart } from '../../workers/_survey/tools/measure-part.ts'
import { readFile } from '../../workers/_survey/tools/read-file.ts'
import { splitFolder, splitPart } from '../../workers/_survey/tools/split.ts'
import { writeReport } from '../../workers/_survey/tools/write-report.ts'
import { wholePart } from '../../workers/_survey/tree/part.ts'
import { encodePath, fromBytes } from '../../workers/_survey/tree/path.ts'
import reader from '../../workers/reader.ts'
import surveyor from '../../workers/surveyor.ts'
import { toolContext } from './support/agent-session.ts'
import { bytesOf, makeFifo, temporaryFolder, write } from './support/folders.ts'

interface Called {
  readonly output: unknown
  readonly facts: Readonly<Record<string, Json>>
}

/** Calls a tool in the way of the runtime. */
async function call(tool: Tool, input: unknown, context: Partial<ToolContext> = {}): Promise<Called> {
  const facts: Record<string, Json> = {}
  const setFact = (name: string, value: Json) => {
    facts[name] = value
  }
  const { input: schema } = tool
  const definition = tool as unknown as ToolDefinition
  const output = await definition.run(schema?.parse(input), toolContext({ setFact, ...context }))
  return { output, facts }
}

describe('the tools', () => {
  test('the tools are exported by the modules that threads load', async () => {
    for (const agent of [surveyor, reader] as AgentWorker[]) {
      for (const tool of listedTools(agent.tools)) {
        const module: Record<string, unknown> = await import(tool.thread ?? 'no thread')
        const tools = Object.values(module).filter((value) => isTool(value))
        expect(tools.map(({ name }) => name)).toContain(tool.name)
      }
    }
  })

  test('the tools show a model no fact', async () => {
    const folder = write(temporaryFolder(), { 'a/b': 'x\n', 'c/d': 'y\n' })
    for (let index = 0; index < 40; index++) write(folder, { [`a/${index}`]: '\n' })
    const { output, facts } = await call(splitFolder, {}, { input: { folder } })
    const names = Object.keys(facts).filter((name) => name.startsWith('part-1-'))
    expect(names.length).toBeGreaterThan(1)
    expect(output).toEqual({
      note: `There are ${names.length} parts to read, one for each reader.`,
      spawn_workers: {
        tasks: names.map((name) => ({
          kind: 'reader',
          name: expect.any(String),
          input: 'Survey your part.',
          facts: [name],
        })),
      },
    })
    const measured = await call(measurePart, {}, { depth: 1, facts: { 'part-1-1': facts['part-1-1'] ?? null } })
    expect(Object.keys(measured.output as object)).not.toContain('contents')
    expect(measured.facts).toEqual({ summary: expect.objectContaining({ contents: expect.any(String) }) })
  })

  test('the tools stop when their signal fires', async () => {
    const folder = write(temporaryFolder(), { a: 'x\n' })
    const signal = AbortSignal.abort(new Error('enough'))
    const facts = { 'part-1-1': wholePart(folder, 1) }
    await expect(call(splitFolder, {}, { input: { folder }, signal })).rejects.toThrow('enough')
    await expect(call(writeReport, {}, { input: { folder }, signal })).rejects.toThrow('enough')
    await expect(call(measurePart, {}, { depth: 1, facts, signal })).rejects.toThrow('enough')
  })
})

describe('the folder that is surveyed', () => {
  const whole = (folder: unknown, parts: Partial<ToolContext> = {}) =>
    wholeOf(toolContext({ input: { folder } as Json, ...parts }))

  test('the surveyed folder is refused by name if it does not exist', async () => {
    const folder = write(temporaryFolder(), { file: '' })
    await expect(whole(join(folder, 'none\n'))).rejects.toThrow(`There is no folder ${folder}/none\\n.`)
    await expect(whole(join(folder, 'file'))).rejects.toThrow(`${folder}/file is not a folder.`)
    await expect(whole(join(folder, 'file/x'))).rejects.toThrow(`There is no folder ${folder}/file/x.`)
    await expect(whole('src')).rejects.toThrow('src is not an absolute path')
    await expect(whole(7)).rejects.toThrow('The input names no folder')
    for (const tool of [splitFolder, writeReport]) {
      await expect(call(tool, {}, { input: { folder: '/none' } })).rejects.toMatchObject({ code: 'run_failed' })
    }
  })

  test('the surveyed folder must be the one that the worker may touch (ORDER-1)', async () => {
    const [own, other] = [temporaryFolder(), temporaryFolder()]
    const workspace = await openWorkspace(own)
    expect(await whole(own, { workspace })).toMatchObject({ top: own })
    await expect(whole(other, { workspace })).rejects.toThrow(`${other} is not the folder that this worker may touch.`)
  })

  test('the surveyed folder is read by the requested number of workers, within the limit of the session', async () => {
    const folder = temporaryFolder()
    for (const [workers, allowance] of [
      [undefined, 200],
      [7, 7],
      [900, 200],
    ]) {
      const input = { folder, ...(workers !== undefined && { workers }) }
      expect(await wholeOf(toolContext({ input }))).toMatchObject({ allowance })
    }
  })

  test('the surveyed folder is split among no more workers than the session has model calls for, four each', async () => {
    const limits = { ...toolContext({}).limits, modelCalls: 500 }
    for (const workers of [undefined, 150]) {
      const input = { folder: temporaryFolder(), ...(workers !== undefined && { workers }) }
      expect(await wholeOf(toolContext({ input, limits }))).toMatchObject({ allowance: 125 })
    }
  })

  test('the surveyed folder is named as text, or is null', () => {
    expect(folderOf({ folder: '/a b/ü' })).toBe('/a b/ü')
    // No assignment can name these: whoever was to work there could not be spawned.
    for (const name of ['/a\nb', '/a\u007fb', '/a\u0085b']) {
      expect(folderOf({ folder: encodePath(fromBytes(Buffer.from(name))) })).toBeNull()
    }
    expect(folderOf({ folder: encodePath(fromBytes(Buffer.from([0x2f, 0xff]))) })).toBeNull()
    expect(() => folderOf({ folder: 'src' })).toThrow(
      'src is not an absolute path: it means nothing to another machine.',
    )
  })
})

describe('a reader', () => {
  const part = wholePart('/top', 1)

  test('a request of a reader that names no part, or several, fails', async () => {
    for (const facts of [{}, { 'part-2-1': part }, { 'part-1-1': part, 'part-1-2': part }] as Record<string, Json>[]) {
      for (const tool of [splitPart, measurePart]) {
        await expect(call(tool, {}, { depth: 1, facts })).rejects.toThrow('A reader needs exactly one part')
      }
    }
    await expect(call(measurePart, {}, { depth: 1, facts: { 'part-1-1': 7 } })).rejects.toThrow(
      'part-1-1 is not a part',
    )
  })

  test('a reader drops the parts that were read, and keeps the lost ones', async () => {
    const folder = write(temporaryFolder(), { 'a/1': 'x\n', 'b/1': 'x\n' })
    const [a, b] = ['a', 'b'].map((name) => ({ ...wholePart(folder, 1), folder: name }))
    const read = await call(measurePart, {}, { depth: 2, facts: { 'part-2-1': a as Json } })
    const plan = { top: folder, parts: 2, folders: 2, hasOwnFolder: false }
    const own = { 'part-1-1': wholePart(folder, 9), 'plan-1': plan, 'part-2-1': a as Json, 'part-2-2': b as Json }
    const child = { workerId: 'w', name: 'n', kind: 'reader' }
    const children: ToolContext['children'] = [
      { ...child, status: 'failed', facts: {}, given: ['part-2-2'], failure: 'out\nof luck' },
      { ...child, status: 'completed', facts: read.facts, given: ['part-2-1'] },
    ]
    const { facts } = await call(measurePart, {}, { depth: 1, facts: own, children })
    const counts = { files: 1, lines: 1, workers: 3, unreadable: 1, lostParts: 1 }
    const lost = [{ path: 'b', reason: 'the folder: its reader failed: out of luck' }]
    expect(facts).toEqual({ 'part-2-1': null, summary: expect.objectContaining({ lost }) })
    expect(facts.summary).toMatchObject({ counts })
    // Once more, when the part is gone.
    const again = await call(measurePart, {}, { depth: 1, facts: { ...own, ...facts }, children })
    expect(again.facts).toEqual(facts)
  })

  test('a reader splits a heavy part only if the limits permit it', async () => {
    const folder = temporaryFolder()
    for (let index = 0; index < 900; index++) write(folder, { [`p${index % 2}/${index}`]: '' })
    const split = async (weight: number, allowance: number, limits: Partial<ToolContext['limits']> = {}) => {
      const facts = { 'part-1-1': { ...wholePart(folder, allowance), weight } as Json }
      const whole = {
        workers: 200,
        children: 20,
        depth: 5,
        mailbox: 1,
        modelCalls: 800,
        tokens: 1,
        toolCalls: 9,
        ...limits,
      }
      const { output } = await call(splitPart, {}, { depth: 1, facts, limits: whole })
      return typeof output === 'string' ? output : Object.keys(output as object)
    }
    const alone = 'There are no tasks: your part, in the folder ., is read by one reader.'
    expect(await split(900, 10)).toEqual(['note', 'spawn_workers'])
    expect(await split(900, 10, { depth: 1 })).toBe(alone)
    expect(await split(900, 10, { children: 1 })).toBe(alone)
    expect(await split(900, 2)).toBe(alone)
    expect(await split(799, 10)).toBe(alone)
  })

  test('a reader fails if the folder cannot be opened, because another machine may have it', async () => {
    const facts = { 'part-1-1': wholePart('/none/of this', 1) }
    const failing = call(measurePart, {}, { depth: 1, facts })
    await expect(failing).rejects.toMatchObject({
      code: 'run_failed',
      message: expect.stringContaining('cannot open /none/of this'),
    })
  })
})

describe.skipIf(process.platform === 'win32')('looking around', () => {
  const inside = async (folder: string) => ({ workspace: await openWorkspace(folder) })

  test('a look into a folder shows names, sizes and types, also of odd names', async () => {
    const folder = write(temporaryFolder(), { 'src/x': 'abc', README: 'hello\n', 'new\nline': '' })
    symlinkSync('README', join(folder, 'link'))
    makeFifo(join(folder, 'pipe'))
    writeFileSync(bytesOf(folder, [0xff]), 'x')
    const context = await inside(folder)
    const expected = ['. holds 6 entries:', 'README (6 bytes)', 'link (a link)', 'new\\nline (0 bytes)']
    const rest = ['pipe (neither file nor folder)', 'src/', '\\xff (1 byte)']
    expect((await call(listFolder, {}, context)).output).toBe([...expected, ...rest].join('\n'))
    expect((await call(listFolder, { path: 'src' }, context)).output).toBe('src holds 1 entry:\nx (3 bytes)')
  })

  test('a look into a folder shows the first of very many names', async () => {
    const folder = temporaryFolder()
    for (let index = 0; index < 250; index++) writeFileSync(join(folder, String(index).padStart(3, '0')), '')
    const output = (await call(listFolder, {}, await inside(folder))).output as string
    expect(output).toMatch(/^\. holds 250 entries, of which these are the first 200 by name:\n000 /)
    expect(output.split('\n')).toHaveLength(201)
  })

  test('a file is read in pieces that never split a character', async () => {
    const text = `a${'文ü\u{1f600}'.repeat(5_000)}`
    const context = await inside(write(temporaryFolder(), { file: text, empty: '', binary: 'a\0b' }))
    const pieces: string[] = []
    for (let offset = 0; ; ) {
      const output = (await call(readFile, { path: 'file', offset }, context)).output as string
      const [, piece = '', next] =
        /^(.*?)(?:\n\[More follows: call again with "offset": (\d+)\.\])?$/s.exec(output) ?? []
      pieces.push(piece)
      if (next === undefined) break
      offset = Number(next)
    }
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe(text)
    expect((await call(readFile, { path: 'empty' }, context)).output).toBe('empty is empty.')
    expect((await call(readFile, { path: 'file', offset: 99_999_999 }, context)).output).toBe(
      'file ends before byte 99999999.',
    )
    expect((await call(readFile, { path: 'binary' }, context)).output).toBe('binary is no text: it holds zero bytes.')
  })

  test('no look leaves the surveyed folder (JAIL-1)', async () => {
    const outside = write(temporaryFolder(), { secret: 'secret', 'sub/secret': 'secret' })
    const folder = write(temporaryFolder(), { 'sub/secret': 'own' })
    symlinkSync(join(outside, 'secret'), join(folder, 'link'))
    symlinkSync(outside, join(folder, 'out'))
    const context = await inside(folder)
    for (const path of [
      'link',
      'out/secret',
      '../secret',
      join(outside, 'secret'),
      'none',
      'sub',
      '',
      'sub/secret/x',
    ]) {
      await expect(call(readFile, { path }, context)).rejects.toMatchObject({ code: 'input_invalid' })
    }
    for (const path of ['out', '..', outside, 'none', 'sub/secret']) {
      await expect(call(listFolder, { path }, context)).rejects.toMatchObject({ code: 'input_invalid' })
    }
    await expect(call(readFile, { path: 'sub/secret' })).rejects.toThrow('no folder whose files it could look at')
  })

  test('a look opens nothing outside the folder, even if a link replaces a folder in between (JAIL-1)', async () => {
    const outside = write(temporaryFolder(), { secret: 'secret' })
    const folder = write(temporaryFolder(), { 'sub/secret': 'own' })
    const { workspace } = await inside(folder)
    const swapping = {
      root: workspace.root,
      async resolve(path: string) {
        const real = await workspace.resolve(path)
        renameSync(join(folder, 'sub'), join(folder, 'moved'))
        symlinkSync(outside, join(folder, 'sub'))
        return real
      },
      resolveNew: workspace.resolveNew.bind(workspace),
      open: workspace.open.bind(workspace),
      read: workspace.read.bind(workspace),
      list: workspace.list.bind(workspace),
    }
    const swapped = async (work: () => Promise<Called>) => {
      await expect(work()).rejects.toThrow('was replaced')
      rmSync(join(folder, 'sub'))
      renameSync(join(folder, 'moved'), join(folder, 'sub'))
    }
    await swapped(() => call(readFile, { path: 'sub/secret' }, { workspace: swapping }))
    await swapped(() => call(listFolder, { path: 'sub' }, { workspace: swapping }))
  })

  test('listing a folder does not wait for a FIFO', async () => {
    const folder = temporaryFolder()
    makeFifo(join(folder, 'pipe'))
    mkdirSync(join(folder, 'sub'))
    await expect(call(readFile, { path: 'pipe' }, await inside(folder))).rejects.toThrow('pipe is not a file')
  })
})
