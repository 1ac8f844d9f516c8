/**
 * Duty: keep the documentation in step with the sources. `node scripts/docs.ts` writes the generated blocks; `--check` lists every statement that
 * is not true.
 * DOCS-1 The text between `<!-- generated: name -->` and `<!-- end -->` comes only from the sources.
 * DOCS-2 Tables that people write (errors, events, states) name exactly what the sources name.
 * DOCS-3 A link leads to an existing file and heading, a comment cites an existing page, and no page names a folder of a developer's machine.
 * DOCS-4 A log or report line that the operations page quotes is in the sources.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventTypes } from '../src/core/event/event.ts'
import { defaultSessionLimits, hardSessionLimits, policy } from '../src/core/policy.ts'
import { busyStates, type RunEvent, runArrows, transition } from '../src/core/worker/lifecycle.ts'
import { coarseState, fineState, runStates, workerStates } from '../src/core/worker/run-state.ts'
import { formats } from '../src/formats/formats.ts'
import { featureNames, features } from '../src/formats/parts/features.ts'
import { gateKeys, outboxKeys, partitionKeys, sessionChannels, sessionKeys, workerKeys } from '../src/store/keys.ts'
import { type MetricFacts, metrics } from '../src/telemetry/metric-catalogue.ts'
import { commandPages } from './command-pages.ts'
import { httpTypes, routeTables } from './http-types.ts'
import { table } from './markdown-table.ts'
import { requirementCounts, requirementProblems, requirementTables } from './requirements.ts'
import { typePages } from './type-tables.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The generated blocks of each page. */
const pages: Readonly<Record<string, Readonly<Record<string, () => string | Promise<string>>>>> = {
  'docs/reference/redis-keys.md': {
    partition: () => keyTable('partitionKeys', partitionKeys('T')),
    outbox: () => keyTable('outboxKeys', outboxKeys('T')),
    worker: () => keyTable('workerKeys', workerKeys('T', '<id>')),
    session: () => keyTable('sessionKeys', sessionKeys('T', '<id>')),
    channels: () => keyTable('sessionChannels', sessionChannels('T', '<session>')),
    gate: () => keyTable('gateKeys', gateKeys('T', '<gate>')),
  },
  'docs/reference/defaults.md': { policy: policyTable, limits: limitsTable },
  'docs/reference/commands.md': { commands: commandPages },
  'docs/reference/http.md': { routes: routeTables },
  'docs/reference/lifecycles.md': { 'agent run': agentRunDiagram, projections: projectionTable },
  'docs/reference/scripts.md': { scripts: scriptTable },
  'docs/reference/metrics.md': { metrics: metricTable },
  'docs/formats.md': { formats: formatTable, losses: lossLists },
  'docs/requirements.md': { counts: requirementCounts, lines: requirementTables },
  ...typePages,
}

/** Files that are generated as a whole. */
const files: Readonly<Record<string, () => string>> = { 'src/http/paths.ts': httpTypes }

const checks: readonly (() => string[])[] = [
  requirementProblems,
  checkErrors,
  checkEvents,
  checkStates,
  checkFaults,
  checkLinks,
  checkCitations,
  checkQuotations,
]

/** Returns one sentence for each statement that is not true. With `write`, writes the generated blocks instead of comparing them. */
export async function docsProblems(write = false): Promise<string[]> {
  const problems: string[] = []
  for (const [page, blocks] of Object.entries(pages)) {
    const text = read(page)
    let renewed = text
    for (const [name, generate] of Object.entries(blocks)) {
      const block = new RegExp(`(<!-- generated: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`)
      if (!block.test(text)) problems.push(`${page} has no block "${name}"`)
      const body = await generate()
      renewed = renewed.replace(block, (_, begin: string, end: string) => `${begin}\n${body.trim()}\n\n${end}`)
    }
    if (renewed === text) continue
    if (write) writeFileSync(join(root, page), renewed)
    else problems.push(`${page} is stale: run \`node scripts/docs.ts\``)
  }
  for (const [file, generate] of Object.entries(files)) {
    const text = generate()
    if (existsSync(join(root, file)) && read(file) === text) continue
    if (write) writeFileSync(join(root, file), text)
    else problems.push(`${file} is stale: run \`node scripts/docs.ts\``)
  }
  return [...problems, ...checks.flatMap((check) => check())]
}

function metricTable(): string {
  const all: readonly (readonly [string, MetricFacts])[] = Object.entries(metrics)
  return table(
    ['metric', 'type', 'labels', 'says of', 'means'],
    all.map(([name, { type, labels, scope, help }]) => [`\`${name}\``, type, labels.join(', '), scope, help]),
  )
}

function formatTable(): string {
  return table(
    ['name', 'format', 'written as'],
    formats.map(({ name, title, form }) => [`\`${name}\``, title, form]),
  )
}

function lossLists(): string {
  return formats
    .map(({ name, losses }) => {
      const lines = featureNames.flatMap((feature) => {
        const loss = losses[feature]
        return loss === undefined ? [] : [`- ${features[feature].what}: ${loss}`]
      })
      return `### ${name}\n\n${lines.length === 0 ? 'It carries everything.' : lines.join('\n')}`
    })
    .join('\n\n')
}

/** The comment above each key names its type, its content and its expiry. */
function keyTable(builder: string, keys: Readonly<Record<string, unknown>>): string {
  const source = read('src/store/keys.ts')
  const body = source.slice(source.indexOf(`function ${builder}`))
  const rows = Object.entries(keys).flatMap(([name, key]) => {
    if (name === 'tag') return []
    const comment = new RegExp(`/\\*\\* ((?:(?!\\*/).)+?) \\*/\\s+${name}[,:]`).exec(body)?.[1]
    if (comment === undefined) throw new Error(`src/store/keys.ts does not say what ${builder}.${name} holds`)
    const [type = '', ...rest] = comment.replace(/\.$/, '').split('; ')
    const isKey = /^(hash|zset|set|list|string|stream)$/.test(type)
    const holds = isKey ? rest.slice(0, Math.max(1, rest.length - 1)) : [type, ...rest]
    const until = isKey && rest.length > 1 ? (rest.at(-1) ?? '') : ''
    return [[`\`${keyText(key)}\``, isKey ? type : '', holds.join('; '), until]]
  })
  return table(['key', 'type', 'holds', 'goes'], rows)
}

function keyText(key: unknown): string {
  if (typeof key !== 'function') return String(key)
  const [, parameters = 'name'] = /^\(([^)]*)\)/.exec(String(key)) ?? []
  return (key as (...pieces: string[]) => string)(...parameters.split(',').map((parameter) => `<${parameter.trim()}>`))
}

/** Meanings of values that have no comment in core/policy.ts. */
const meanings: Readonly<Record<string, string>> = {
  renewEveryMs: 'A turn that lasts is renewed this often.',
  sweepEveryMs: 'Each node sweeps about this often; earlier when a timer is due earlier.',
  sweepBatch: 'Most items that one call of a sweep takes.',
  turnSliceMs: 'A turn that lasts longer ends at its next step, and its worker returns to the run queue.',
  turnSliceSteps: 'The same after this many messages.',
  drainMs: 'A node that stops waits this long for its turns, then gives them back.',
  retries:
    'Retries of a message whose `receive` threw, or of a model call or a tool with a failure that may pass, before the run fails; a kind may set its own number.',
  retryBackoffMs: 'Delay before the first retry; doubled for each further one, half of it random.',
  retryBackoffMsMax: 'Longest delay before a retry.',
  modelCallMs: 'A model call that takes longer is broken off and tried again.',
  toolMs: 'A tool that takes longer is aborted; a tool may set its own limit (`timeoutMs`).',
  toolOutputBytesMax:
    'Longer output of a tool is cut, and a note is added; a tool may set its own limit (`outputBytesMax`).',
  messageBytesMax: 'Most bytes of JSON of an input, a message, a reply, a state, the value of a timer.',
  nameBytesMax: "Most bytes of a worker's name.",
  slots: 'Slots of a node; `--concurrency` sets it.',
  retentionMs:
    'Finished sessions are kept this long; `node --retention` sets it for the namespace, `session prune --older-than` removes them earlier.',
  madeKeyMs: 'The same for keys that the client made.',
  eventsKept: 'About so many entries of the event stream of a partition are kept.',
  deadLettersKept: 'About so many dead letters are kept.',
}

function policyTable(): string {
  const source = read('src/core/policy.ts')
  const rows = Object.entries(policy).map(([name, value]) => {
    const comment = new RegExp(`/\\*\\* ((?:(?!\\*/).)+?) \\*/\\s+${name}:`).exec(source)?.[1]
    const meaning = comment ?? meanings[name]
    if (meaning === undefined) throw new Error(`scripts/docs.ts does not say what policy.${name} means`)
    return [`\`${name}\``, quantity(name, value), meaning]
  })
  return table(['name', 'default', 'means'], rows)
}

function limitsTable(): string {
  const source = read('src/core/policy.ts')
  const rows = Object.entries(defaultSessionLimits).map(([name, value]) => {
    const comment = new RegExp(`/\\*\\* ((?:(?!\\*/).)+?) \\*/\\s+readonly ${name}:`).exec(source)?.[1] ?? ''
    const most = hardSessionLimits[name as keyof typeof hardSessionLimits]
    return [`\`${name}\``, grouped(value), grouped(most), comment]
  })
  return table(['limit', 'default', 'at most', 'means'], rows)
}

function quantity(name: string, value: number): string {
  if (name.includes('Bytes')) return value % 1_048_576 === 0 ? `${value / 1_048_576} MiB` : `${value} B`
  if (!/Ms(Max)?$/.test(name)) return grouped(value)
  const units = [
    [86_400_000, 'days'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const
  const [ms, unit] = units.find(([ms]) => value >= 2 * ms && value % ms === 0) ?? [1, 'ms']
  return `${value / ms} ${unit}`.replace(/^1000 ms$/, '1 s')
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}

/** The help of every command, as the command line prints it. */
function projectionTable(): string {
  const word = (run: (typeof runStates)[number], worker: (typeof workerStates)[number]) => {
    const coarse = coarseState({ run, worker })
    return `${fineState({ run, worker })}${coarse === 'busy' ? '' : ` (${coarse})`}`
  }
  const rows = runStates.map((run) => [`\`${run}\``, ...workerStates.map((worker) => word(run, worker))])
  return table(['run \\ worker', ...workerStates], rows)
}

/** The transitions of an agent's run. Transitions from every busy state are listed once below the diagram, because they would hide the others. */
function agentRunDiagram(): string {
  const isAnywhere = (event: RunEvent) => busyStates.every((state) => transition(state, event) !== null)
  const drawn = Map.groupBy(
    runArrows.filter(({ event }) => !isAnywhere(event)),
    ({ from, to }) => `${from} --> ${to}`,
  )
  const lines = [...drawn].map(([arrow, events]) => `  ${arrow} : ${events.map(({ event }) => event).join(', ')}`)
  const reasons = runArrows
    .filter(({ event, from, why }) => why !== undefined && (!isAnywhere(event) || from === busyStates[0]))
    .map(({ event, from, to, why = '' }) => [isAnywhere(event) ? 'any but Idle and Failed' : from, event, to, why])
  return [
    '```mermaid\nstateDiagram-v2\n  [*] --> Idle',
    ...lines,
    '```\n',
    'Reasons for some of the arrows. `cancelled` and `quarantined` are not drawn.',
    '',
    table(['from', 'event', 'to', 'because'], reasons),
  ].join('\n')
}

/** The duty of each script and why it is a script, from the first lines of its header. */
function scriptTable(): string {
  const rows = globSync('src/store/lua/**/*.lua', { cwd: root, exclude: ['src/store/lua/shared/**'] })
    .sort((one, other) => basename(one).localeCompare(basename(other)))
    .flatMap((file) => {
      const header = /^--\[\[ ([\w-]+) – ([^\n]+)\n(?:Why a script\s+([^\n]+))?/.exec(read(file))
      return header?.[3] === undefined ? [] : [[`[${header[1]}](../../${file})`, header[2] ?? '', header[3]]]
    })
  return table(['script', 'does', 'why one script'], rows)
}

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
  for (const [, name = '', body = ''] of source.matchAll(/class (\w+) extends RuntimeError \{([\s\S]*?)\n\}/g)) {
    const alias = [...aliases].find(([alias]) => alias !== 'ErrorCode' && new RegExp(`\\b${alias}\\b`).test(body))?.[1]
    const standard = literals(/super\(([^,]*),/.exec(body)?.[1])
    const retried = body.includes('retryable = true') ? 'yes' : 'no'
    for (const code of new Set([...literals(body), ...literals(alias)].filter((code) => codes.includes(code)))) {
      const [by = '', again = '', what = ''] = rows.get(code) ?? []
      if (!by.includes(`\`${name}\``)) problems.push(`${page}: ${code} is thrown as ${name}`)
      if (!again.startsWith(retried) && by.startsWith(`\`${name}`))
        problems.push(`${page}: is ${code} retried? ${retried}`)
      const isReserved = !standard.includes(code) && !isUsed(code, ['src/core/errors.ts'], ['src'])
      if (isReserved !== what.startsWith('Reserved'))
        problems.push(`${page}: ${code} is ${isReserved ? '' : 'not '}reserved`)
    }
  }
  return problems
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
  const source = read('src/client/session/session-summary.ts')
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
  const rowIds = globSync('test/faults/rows/*.ts', { cwd: root }).flatMap((file) =>
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

if (import.meta.main) {
  const problems = await docsProblems(!process.argv.includes('--check'))
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
}
