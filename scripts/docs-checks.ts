/**
 * Duty: compare the documentation that people write with the sources. Each check returns one sentence for each statement that is not true.
 * DOCS-2 Tables that people write (errors, events, states) name exactly what the sources name.
 * DOCS-3 A link leads to an existing file and heading, a comment cites an existing page, and no page names a folder of a developer's machine.
 * DOCS-4 A log or report line that the operations page quotes is in the sources.
 * DOCS-5 Each type of options that a table of the definitions or the client names has a table there, too, and so has each type that it extends.
 * DOCS-6 Each command that is shown exists, with the options that it is given, and takes their values (shown-commands.ts).
 * DOCS-7 Each route, variable of the environment and script of npm that is shown exists (shown-names.ts).
 * DOCS-8 Tables of fields, codes, rights and types that people write have the names of the sources (shown-names.ts).
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventTypes } from '../src/core/event/event.ts'
import { runStates, workerStates } from '../src/core/worker/run/run-state.ts'
import { requirementProblems } from './requirements.ts'
import { commandProblems } from './shown-commands.ts'
import { npmProblems, routeProblems, tableProblems, variableProblems } from './shown-names.ts'
import { parentsOf } from './type-tables.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

export const checks: readonly (() => string[])[] = [
  requirementProblems,
  checkErrors,
  checkEvents,
  checkStates,
  checkFaults,
  checkLinks,
  checkCitations,
  checkQuotations,
  checkOptionTables,
  commandProblems,
  routeProblems,
  variableProblems,
  npmProblems,
  tableProblems,
]

/** The rows of a page's tables whose first cell names something in code quotes, with the other cells of the row. */
function rowsOf(page: string): Map<string, string[]> {
  const rows = new Map<string, string[]>()
  for (const [, name = '', rest = ''] of read(page).matchAll(/^\| `([^`]+)` \|(.*)\|$/gm))
    rows.set(
      name,
      rest.split('|').map((cell) => cell.trim()),
    )
  return rows
}

function compare(page: string, found: Iterable<string>, wanted: Iterable<string>): string[] {
  const [has, needs] = [new Set(found), new Set(wanted)]
  return [
    ...[...needs].filter((name) => !has.has(name)).map((name) => `${page} does not explain ${name}`),
    ...[...has].filter((name) => !needs.has(name)).map((name) => `${page} explains ${name}, which does not exist`),
  ]
}

/** The literals of the sources, without the files that list them all, so that unused ones are found. */
function isUsed(literal: string, but: readonly string[], folders: readonly string[]): boolean {
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.{ts,lua}`, { cwd: root }))
  return files.some((file) => !but.includes(file) && new RegExp(`['"]${literal}['"]`).test(read(file)))
}

function checkErrors(): string[] {
  const page = 'docs/reference/errors.md'
  const source = read('src/core/errors.ts')
  const aliases = new Map(
    [...source.matchAll(/type (\w+Code) =([^\n]*(?:\n {2}\|[^\n]*)*)/g)].map(([, name, of]) => [name, of]),
  )
  const literals = (text = '') => [...text.matchAll(/'([a-z_]+)'/g)].map(([, code]) => code as string)
  const codes = literals(aliases.get('ErrorCode'))
  const rows = rowsOf(page)
  const problems = compare(page, rows.keys(), codes)
  const classes = [...source.matchAll(/^export class (\w+) (extends [\s\S]*?)\n\}/gm)]
  const thrown = new Set<string>()
  for (const [, name = '', body = ''] of classes) {
    const alias = [...aliases].find(([alias]) => alias !== 'ErrorCode' && new RegExp(`\\b${alias}\\b`).test(body))?.[1]
    const standard = literals(/super\(([^,]*),|readonly code = (.*)/.exec(body)?.slice(1).join(''))
    const retried = body.includes('retryable = true') ? 'yes' : 'no'
    for (const code of new Set([...literals(body), ...literals(alias)].filter((code) => codes.includes(code)))) {
      thrown.add(code)
      const [by = '', again = '', what = ''] = rows.get(code) ?? []
      if (!by.includes(`\`${name}\``)) problems.push(`${page}: ${code} is thrown as ${name}`)
      if (!again.startsWith(retried) && by.startsWith(`\`${name}`))
        problems.push(`${page}: is ${code} retried? ${retried}`)
      const isReserved = !standard.includes(code) && !isUsed(code, ['src/core/errors.ts'], ['src'])
      if (isReserved !== what.startsWith('Reserved'))
        problems.push(`${page}: ${code} is ${isReserved ? '' : 'not '}reserved`)
    }
  }
  const withoutClass = codes.filter((code) => !thrown.has(code))
  return [...problems, ...withoutClass.map((code) => `src/core/errors.ts has no class for ${code}`)]
}

function checkEvents(): string[] {
  const page = 'docs/reference/events.md'
  const rows = rowsOf(page)
  const problems = compare(page, rows.keys(), eventTypes)
  // These files list or read events; they write none.
  const catalogues = ['src/core/event/event.ts', 'src/core/event/event-details.ts', 'src/client/event/activity.ts']
  for (const type of eventTypes) {
    // The end of a session is a field of its entry. Its event is created when the entry is read.
    const isMade = /^session\.(completed|failed|cancelled)$/.test(type)
    const isReserved =
      !isMade && !isUsed(type, catalogues, ['src/core', 'src/client', 'src/runtime', 'src/store', 'src/watchdog'])
    if (isReserved !== (rows.get(type)?.[0] ?? '').startsWith('Reserved'))
      problems.push(`${page}: ${type} is ${isReserved ? '' : 'not '}reserved`)
  }
  return problems
}

/** Names in each diagram of docs/reference/lifecycles.md are the states of the sources. */
function checkStates(): string[] {
  const page = 'docs/reference/lifecycles.md'
  const source = read('src/client/session/session-state.ts')
  const sessionStates = [...(/type SessionState =(.*)/.exec(source)?.[1] ?? '').matchAll(/'(\w+)'/g)].map(
    ([, name]) => name as string,
  )
  const diagrams = [...read(page).matchAll(/```mermaid\nstateDiagram-v2\n([\s\S]*?)```/g)].map(([, body]) => body ?? '')
  // The run is drawn twice: for a handler and for an agent.
  const wanted = [workerStates, runStates, runStates, sessionStates]
  if (diagrams.length !== wanted.length)
    return [`${page} should have ${wanted.length} diagrams, not ${diagrams.length}`]
  return diagrams.flatMap((body, index) => {
    const names = [...body.matchAll(/^\s*(\w+)\s*$|^\s*(\S+) --> (\S+?)(?:\s*:.*)?$/gm)].flatMap(
      ([, one, from, to]) => [one, from, to],
    )
    return compare(page, names.filter((name) => name !== undefined && name !== '[*]') as string[], wanted[index] ?? [])
  })
}

/** Checks that the rows and tests named in docs/faults.md exist, and that the page names each row of `npm run faults`. */
function checkFaults(): string[] {
  const page = 'docs/faults.md'
  const lines = [...read(page).matchAll(/^\| (F\d+\w?) \|[^|]*\| (.*) \|$/gm)]
  const named = lines.flatMap(([, id = '', where = '']) => (/^row\b/.test(where) ? [id] : []))
  const rowIds = globSync('test/faults/rows/**/*.ts', { cwd: root }).flatMap((file) =>
    [...read(file).matchAll(/^ {2,4}id: '(F\d+\w?)',/gm)].map(([, id]) => id as string),
  )
  const dead = lines.flatMap(([, id = '', where = '']) =>
    [...where.matchAll(/\]\(\.\.\/([^)]+)\) "([^"]+)"/g)]
      .filter(([, file = '', name = '']) => !existsSync(join(root, file)) || !read(file).includes(name))
      .map(([, file, name]) => `${page}: ${id} names the test "${name}", which ${file} does not have`),
  )
  const ids = new Set(lines.map(([, id = '']) => Number(/\d+/.exec(id)?.[0])))
  const missing = Array.from({ length: 45 }, (_, index) => index + 1).filter((number) => !ids.has(number))
  return [...compare(page, named, rowIds), ...dead, ...missing.map((number) => `${page} does not speak of F${number}`)]
}

function checkLinks(): string[] {
  const files = globSync(['*.md', 'docs/**/*.md', 'workers/*.md', 'bench/*.md'], { cwd: root })
  return files.flatMap((file) => {
    const text = read(file)
    const links = [...text.matchAll(/\]\(([^)#\s]*)(?:#([^)]*))?\)/g)].filter(
      ([, target = '']) => !/^[a-z]+:/.test(target),
    )
    const dead = links.flatMap(([, target = '', anchor]) => {
      const page = target === '' ? file : join(dirname(file), target)
      if (!existsSync(join(root, page))) return [`${file} links to ${target}, which is not there`]
      const isMissing = anchor !== undefined && page.endsWith('.md') && !anchorsOf(read(page)).has(anchor)
      return isMissing ? [`${file} links to ${target}#${anchor}, a heading that is not there`] : []
    })
    const place = /(?<![\w.])\/(?:work|root|home|Users)\/[\w./-]*/.exec(text)?.[0]
    return place === undefined ? dead : [...dead, `${file} names a folder of somebody's machine: ${place}`]
  })
}

/** The anchors of the headings of a page: lower case, without punctuation, spaces as hyphens. */
function anchorsOf(page: string): Set<string> {
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase())
  return new Set(headings.map((heading) => heading.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')))
}

/** Checks that each page and each decision that a comment cites exists. */
function checkCitations(): string[] {
  const decisions = globSync('docs/decisions/*.md', { cwd: root }).join(' ')
  return globSync('{src,workers,test,bench,scripts}/**/*.{ts,lua,mjs}', { cwd: root }).flatMap((file) => {
    const text = read(file)
    const pages = [...text.matchAll(/\b(?:docs|bench)\/[\w/-]+\.md\b/g)].filter(
      ([page]) => !existsSync(join(root, page)),
    )
    const numbers = [...text.matchAll(/\bdecision (\d{4})\b/g)].filter(
      ([, number]) => !decisions.includes(`/${number}-`),
    )
    return [...pages, ...numbers].map(([cited]) => `${file} cites ${cited}, which is not there`)
  })
}

/** Checks that the log and report lines that docs/operations.md quotes in "When work stands still" are in the sources. */
function checkQuotations(): string[] {
  const page = 'docs/operations.md'
  const section = /## When work stands still\n([\s\S]*?)\n## /.exec(read(page))?.[1] ?? ''
  const sources = globSync('src/**/*.ts', { cwd: root }).map(read).join('\n')
  const quoted = [...section.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text.replace(/ ?…$/, '').replace(/^(why:|waits for) /, '')),
  )
  return quoted
    .filter((text) => !sources.includes(text))
    .map((text) => `${page} quotes "${text}", which no source says`)
}

/** Names under which a table of options stands, where that is another one than the type's. */
const tableOf: Readonly<Record<string, string>> = {
  GivenTurnShare: 'TurnShare',
  ConfigurationChange: 'Configuration',
  DismissQuery: 'LettersQuery',
  ApprovalsQuery: 'AsksQuery',
}
/** Tables of these would tell nothing: a package of a provider says what they hold, or nobody writes them. */
const withoutTable = ['ProviderOptions', 'AsyncDisposable']

function checkOptionTables(): string[] {
  const pages = ['docs/reference/definitions.md', 'docs/reference/client.md']
  const text = pages.map(read).join('\n')
  const tables = new Set([...text.matchAll(/<!-- generated: (\w+) -->/g)].map(([, name]) => name as string))
  const named = [...text.matchAll(/\b[A-Z]\w*(?:Query|Options|Settings|Rules)\b/g)].map(([name]) => name)
  const parents = [...tables].flatMap(parentsOf)
  const missing = new Set(
    [...named, ...parents].filter((name) => !tables.has(tableOf[name] ?? name) && !withoutTable.includes(name)),
  )
  return [...missing].map((name) => `${pages.join(' and ')} have no table of ${name}`)
}
