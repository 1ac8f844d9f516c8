/**
 * Duty: tells which behaviours of the designs are shown by tests. `npm run requirements` prints the numbers and what is missing, and fails while a
 * line has neither a test, a reason, nor a part that is not built yet.
 * REQUIREMENTS-1 A test shows the lines whose numbers stand at the end of its name in brackets: `… [1.21, 3.4]`.
 * REQUIREMENTS-2 The table in docs/requirements.md comes from the names of the tests, so it cannot say of a test what that does not claim.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from './markdown-table.ts'
import { designs, type Line, lines, type Part, parts } from './requirements/lines.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const numbers = /\[(\d\.\d+(?:, \d\.\d+)*)\]['"`]/g

/** The files of the tests that show each line, by the number of the line. */
function shownBy(): ReadonlyMap<string, ReadonlySet<string>> {
  const shown = new Map<string, Set<string>>()
  // Names of tests stand in their files, and in the tables of samples that they go through.
  for (const file of globSync(['test/**/*.test.ts', 'test/**/*-samples.ts'], { cwd: root }).sort())
    for (const [, list = ''] of readFileSync(join(root, file), 'utf8').matchAll(numbers))
      for (const id of list.split(', ')) shown.set(id, (shown.get(id) ?? new Set()).add(file))
  return shown
}

const shown = shownBy()
const testsOf = ({ id }: Line): readonly string[] => [...(shown.get(id) ?? [])]

/** One sentence for each line that is missing, each number that no line has, and each part that a test contradicts. */
export function requirementProblems(): string[] {
  const known = new Set(lines.map(({ id }) => id))
  return [
    ...[...shown].flatMap(([id, files]) =>
      known.has(id) ? [] : [`${[...files].join(', ')}: no design has a line ${id}`],
    ),
    ...lines.flatMap((line) => {
      const isShown = testsOf(line).length > 0
      if (isShown && line.part)
        return [`${line.id} is shown by a test: take "part" from it in scripts/requirements/lines.ts`]
      return isShown || line.part ? [] : [`${line.id} is shown by no test: ${line.says}`]
    }),
  ]
}

/** One table for each design. */
export function requirementTables(): string {
  const ofDesign = (number: number) => lines.filter(({ id }) => id.startsWith(`${number}.`))
  return designs
    .map(
      (name, number) =>
        `### ${number} ${name}\n\n${table(['Line', 'The design', 'In troupe'], ofDesign(number).map(row))}`,
    )
    .join('\n\n')
}

function row(line: Line): string[] {
  const { id, says, otherwise, part } = line
  const files = testsOf(line).map((file) => `[${file.slice('test/'.length)}](../${file})`)
  const tests = files.join(', ')
  if (part) return [id, says, `not yet: ${parts[part].toLowerCase()}`]
  return [id, says, otherwise ? `otherwise: ${otherwise}. ${tests}` : tests]
}

/** The counts in one line, and one line for each part that is not built yet. */
export function requirementCounts(): string {
  const waiting = lines.filter(({ part }) => part)
  const missing = lines.filter((line) => !line.part && testsOf(line).length === 0)
  const otherwise = lines.filter((line) => line.otherwise && !missing.includes(line))
  const done = lines.length - waiting.length - missing.length - otherwise.length
  const ofPart = (name: Part) => waiting.filter(({ part }) => part === name).map(({ id }) => id)
  const list = (Object.keys(parts) as Part[]).flatMap((name) => {
    const ids = ofPart(name)
    return ids.length === 0 ? [] : [`- ${parts[name]}: ${ids.join(', ')}.`]
  })
  const sum = `Of ${lines.length} lines ${done} are shown by tests, ${otherwise.length} are otherwise for a reason (and shown as they are), ${waiting.length} belong to parts that are not built yet, ${missing.length} are missing.`
  return [sum, ...(list.length > 0 ? ['', 'Not built yet:', '', ...list] : [])].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = requirementProblems()
  console.log([requirementCounts(), ...problems].join('\n'))
  if (problems.length > 0) process.exitCode = 1
}
