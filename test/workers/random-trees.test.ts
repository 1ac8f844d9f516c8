/** Surveys of random trees with names of any bytes, compared with `find` and `wc`. */
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findTotals, temporaryFolder } from './support/folders.ts'
import { byAgents, type Survey } from './support/surveys.ts'

const nasty = [
  'new\nline',
  '\u001b[31mred',
  'a|b',
  '`',
  ' ',
  '-rf',
  '..x',
  '.troupe',
  '__proto__',
  'e\u0301',
  '\ufeff',
  '\\n',
]
const isName = (name: Buffer) => !['.', '..'].includes(name.toString()) && !name.includes(0) && !name.includes(0x2f)
const names = fc.oneof(
  fc.constantFrom(...nasty.map((name) => Buffer.from(name))),
  fc
    .uint8Array({ minLength: 1, maxLength: 30 })
    .map((bytes) => Buffer.from(bytes))
    .filter(isName),
  fc.constantFrom('a.ts', 'b.py', 'go.mod', 'package.json', 'x'.repeat(255)).map((name) => Buffer.from(name)),
)
const contents = fc.oneof(
  fc.constantFrom('', 'same\n', '\r\n', 'TODO\n').map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
)
const entry = fc.record({
  name: names,
  sort: fc.constantFrom('file', 'file', 'file', 'folder', 'folder', 'link', 'hard link'),
  content: contents,
  /** Which of the folders made so far it lies in, and which of the files a hard link is one of. */
  place: fc.nat(),
})
type Entry = typeof entry extends fc.Arbitrary<infer Value> ? Value : never

/** Leaves out names that exist already and paths that are too long. */
function plant(top: string, entries: readonly Entry[]): void {
  const folders = [Buffer.from(top)]
  const files: Buffer[] = []
  for (const { name, sort, content, place } of entries) {
    const path = Buffer.concat([folders[place % folders.length] as Buffer, Buffer.from('/'), name])
    const file = files[place % files.length]
    try {
      if (sort === 'folder') {
        mkdirSync(path)
        folders.push(path)
      } else if (sort === 'link') symlinkSync(place % 2 === 0 ? '..' : '/etc/passwd', path)
      else if (sort === 'hard link' && file !== undefined) linkSync(file, path)
      else {
        writeFileSync(path, content, { flag: 'wx' })
        files.push(path)
      }
    } catch (error) {
      if (!/^(EEXIST|ENAMETOOLONG|EILSEQ)$/.test(String((error as NodeJS.ErrnoException).code))) throw error
    }
  }
}

test.skipIf(process.platform === 'win32')(
  'random trees have the totals of find and wc, however they are split',
  async () => {
    const limits = fc.record({
      workers: fc.integer({ min: 1, max: 40 }),
      children: fc.integer({ min: 1, max: 8 }),
      depth: fc.nat(5),
    })
    const folder = temporaryFolder()
    const property = fc.asyncProperty(
      fc.array(entry, { maxLength: 80, size: 'max' }),
      limits,
      async (entries, some) => {
        const top = `${folder}/tree`
        mkdirSync(top)
        plant(top, entries)
        const { outcome, ran, errors } = await byAgents({ folder: top }, { limits: some })
        expect(errors).toEqual([])
        const { totals, markdown } = outcome.value as Survey
        expect(totals).toEqual({ ...findTotals(top), unreadable: 0, workers: ran.length })
        expect(markdown).not.toMatch(/(?!\n)\p{C}/u)
        rmSync(top, { recursive: true })
      },
    )
    await fc.assert(property, { numRuns: 40, endOnFailure: true })
  },
)
