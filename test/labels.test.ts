/** Invariants are labelled `NOUN-n` in the header of the file that owns them: each label has one owner, and each label that is cited exists. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = '{src,workers,scripts,bench,test}/**/*.{ts,tsx,lua}'
const self = 'test/labels.test.ts'

interface Text {
  readonly file: string
  readonly text: string
}

interface Labels {
  /** Label to the files whose header defines it. */
  readonly owners: ReadonlyMap<string, readonly string[]>
  /** `<file>: <label>` of each header line that begins with a label of another form. */
  readonly malformed: readonly string[]
}

const label = /(?<![\w-])[A-Z]{2,}(?:-[A-Z]{2,})*-\d+\b/g
/** Names of the same form that are no labels: standards and algorithms. */
const foreign = /^(UTF|SHA|CVE|ISO|RFC|HTTP|AES|MD)-/
const ownLine = /^(?: \*|--|) ([A-Z]{2,}(?:-[A-Z]{2,})*-\d+) /gm
/** Labels as they once were: a letter or two and a number or a letter. Fault rows and invariants of the protocol have lists of their own. */
const oldLine = /^(?: \*|--|) (?!I\d|K\d|F\d\d)([A-Z]{1,2}(?:-[a-z]|\d{1,2})) /gm

/** The first comment of a file. */
function headerOf({ text }: Text): string {
  return /^(?:\/\*\*[\s\S]*?\*\/|--\[\[[\s\S]*?\]\])/.exec(text)?.[0] ?? ''
}

function labelsOf(texts: readonly Text[]): Labels {
  const owners = new Map<string, string[]>()
  const malformed: string[] = []
  for (const text of texts) {
    const header = headerOf(text)
    for (const [, name = ''] of header.matchAll(ownLine)) owners.set(name, [...(owners.get(name) ?? []), text.file])
    for (const [, name] of header.matchAll(oldLine)) malformed.push(`${text.file}: ${name}`)
  }
  return { owners, malformed }
}

function sharedLabels({ owners }: Labels): string[] {
  return [...owners].filter(([, files]) => files.length > 1).map(([name, files]) => `${name}: ${files.join(', ')}`)
}

/** Labels that a text cites and no header defines. */
function unknownLabels({ owners }: Labels, texts: readonly Text[]): string[] {
  const nouns = new Set([...owners.keys()].map((name) => name.replace(/-\d+$/, '')))
  return texts.flatMap(({ file, text }) =>
    [...new Set(text.match(label) ?? [])]
      .filter((name) => !foreign.test(name) && !owners.has(name))
      // Models, machines and data of tests have names like it: only a known noun, or a comment, makes it a label.
      .filter((name) => nouns.has(name.replace(/-\d+$/, '')) || text.includes(`(${name})`))
      .map((name) => `${file}: ${name}`),
  )
}

function read(pattern: string | string[]): Text[] {
  return globSync(pattern, { cwd: root })
    .filter((file) => file !== self)
    .map((file) => ({ file, text: readFileSync(`${root}/${file}`, 'utf8') }))
}

const code = read(sources)
const labels = labelsOf(code)

describe('a label of an invariant', () => {
  test('a label of an invariant has the form NOUN-n', () => expect(labels.malformed).toEqual([]))
  test('has one owner', () => expect(sharedLabels(labels)).toEqual([]))
  test('a label that a file or a page cites has an owner', () => {
    const pages = read(['docs/**/*.md', 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'])
    expect(unknownLabels(labels, [...code, ...pages])).toEqual([])
  })
})

describe('the test of labels', () => {
  const turn = { file: 'turn.ts', text: '/**\n * Duty: a turn.\n * TURN-1 It ends once.\n */' }

  test('the test of labels notices two owners of a label', () => {
    expect(sharedLabels(labelsOf([turn, { ...turn, file: 'step.ts' }]))).toEqual(['TURN-1: turn.ts, step.ts'])
  })

  test('the test of labels notices a label of another form', () => {
    const old = { file: 'old.ts', text: '/**\n * T-a It ends once.\n * U2 It ends.\n * I4 holds.\n */' }
    expect(labelsOf([old]).malformed).toEqual(['old.ts: T-a', 'old.ts: U2'])
  })

  test('the test of labels notices a citation of a label without an owner', () => {
    const citing = { file: 'slot.ts', text: '// See TURN-1 and TURN-2, in UTF-8 (SLOT-9).' }
    expect(unknownLabels(labelsOf([turn]), [citing])).toEqual(['slot.ts: TURN-2', 'slot.ts: SLOT-9'])
  })
})
