import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseInput, readInput } from '../../src/cli/input.ts'
import { InputError } from '../../src/core/errors.ts'

describe('parseInput', () => {
  it.each([
    ['docs', 'docs'],
    ['5', '5'],
    ['true', 'true'],
    ['"quoted"', '"quoted"'],
    ['', ''],
    ['{"folder":"."}', { folder: '.' }],
    ['  [1, 2]', [1, 2]],
    ['{"id":12345678901234567890}', { id: '12345678901234567890' }],
  ])('reads %j without an option', (text, value) => {
    expect(parseInput(text, undefined, 'the input')).toEqual(value)
  })

  it.each([
    ['5', 5],
    ['null', null],
    ['"quoted"', 'quoted'],
  ])('reads %j with --as json', (text, value) => {
    expect(parseInput(text, 'json', 'the input')).toEqual(value)
  })

  it('sends text that begins with a bracket unchanged with --as text', () => {
    expect(parseInput('[draft] hello', 'text', 'the input')).toBe('[draft] hello')
  })

  it('says how to send text that only looks like JSON', () => {
    expect(() => parseInput('[draft] hello', undefined, 'the input')).toThrow(
      /^the input is not valid JSON .*--as text/,
    )
    expect(() => parseInput('{folder: 1}', 'json', 'the input')).toThrow(InputError)
    expect(() => parseInput('docs', 'json', 'the input')).not.toThrow(/--as text/)
  })
})

describe('readInput', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'troupe-input-'))
    await writeFile(join(folder, 'input.json'), '{"n":1}\n')
    await writeFile(join(folder, 'note.txt'), 'one\ntwo\n')
  })
  afterAll(() => rm(folder, { recursive: true }))

  const nothing = async function* () {}
  const piped = async function* () {
    yield Buffer.from('caf\u00c3'.slice(0, 3))
    yield Buffer.from([0xc3])
    yield Buffer.from([0xa9, 0x0a])
  }

  it('removes a byte order mark', async () => {
    const file = join(folder, 'mark.json')
    await writeFile(file, '\ufeff{"a":1}')
    expect(await readInput(undefined, { file }, nothing())).toEqual({ a: 1 })
    const marked = async function* () {
      yield Buffer.from('\ufeffhello\n')
    }
    expect(await readInput('-', {}, marked())).toBe('hello')
  })

  it('refuses input that is not UTF-8', async () => {
    const file = join(folder, 'latin.txt')
    await writeFile(file, Buffer.from('caf\u00e9', 'latin1'))
    const advice = 'is not text in UTF-8: save it as UTF-8, or send a reference to it.'
    await expect(readInput(undefined, { file }, nothing())).rejects.toThrow(
      new InputError(`the file ${file} ${advice}`),
    )
    const latin = async function* () {
      yield Buffer.from([0x63, 0xe9])
    }
    await expect(readInput('-', {}, latin())).rejects.toThrow(new InputError(`the input from stdin ${advice}`))
  })

  it('stops reading input that is longer than any message', async () => {
    let chunks = 0
    const endless = async function* () {
      for (;;) {
        chunks++
        yield Buffer.alloc(65_536, 'x')
      }
    }
    await expect(readInput('-', {}, endless())).rejects.toMatchObject({ code: 'message_too_big' })
    expect(chunks).toBe(65)
  })

  it.skipIf(process.platform === 'win32')('stops reading a file that does not end', async () => {
    const zero = readInput(undefined, { file: '/dev/zero' }, nothing())
    await expect(zero).rejects.toThrow(/^the file \/dev\/zero is longer than 4194304 bytes/)
  })

  it('readInput is null without an input', async () => {
    expect(await readInput(undefined, {}, nothing())).toBeNull()
  })

  it('reads a file, without its last line break', async () => {
    expect(await readInput(undefined, { file: join(folder, 'input.json') }, nothing())).toEqual({ n: 1 })
    expect(await readInput(undefined, { file: join(folder, 'note.txt') }, nothing())).toBe('one\ntwo')
  })

  it('reads stdin for -, wherever a chunk ends', async () => {
    expect(await readInput('-', {}, piped())).toBe('café')
    const spaced = async function* () {
      yield Buffer.from('  a line \r\n\n\r\n')
    }
    expect(await readInput('-', {}, spaced())).toBe('  a line \r\n\n')
  })

  it('names a file that cannot be read, and the reason', async () => {
    await expect(readInput(undefined, { file: join(folder, 'none') }, nothing())).rejects.toThrow(
      /none cannot be read: there is no such file/,
    )
    await expect(readInput(undefined, { file: folder }, nothing())).rejects.toThrow(/it is a folder/)
  })

  it('refuses two inputs', async () => {
    await expect(readInput('x', { file: 'y' }, nothing())).rejects.toThrow(/not both/)
  })
})
