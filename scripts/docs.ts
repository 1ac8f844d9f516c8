/**
 * Duty: keep the documentation in step with the sources. `node scripts/docs.ts` writes the generated blocks; `--check` lists every statement that
 * is not true. What people write is compared in docs-checks.ts.
 * DOCS-1 The text between `<!-- generated: name -->` and `<!-- end -->` comes only from the sources.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defaultSessionLimits, hardSessionLimits, policy } from '../src/core/policy.ts'
import { busyStates, type RunEvent, runArrows, transition } from '../src/core/worker/run/lifecycle.ts'
import { coarseState, fineState, runStates, workerStates } from '../src/core/worker/run/run-state.ts'
import { formats } from '../src/formats/formats.ts'
import { featureNames, features } from '../src/formats/parts/features.ts'
import {
  allowanceKeys,
  endpointKeys,
  gateKeys,
  outboxKeys,
  partitionKeys,
  sessionChannels,
  sessionKeys,
  workerKeys,
} from '../src/store/keys.ts'
import { type MetricFacts, metrics } from '../src/telemetry/metric-catalogue.ts'
import { commandPages } from './command-pages.ts'
import { checks } from './docs-checks.ts'
import { httpTypes, routeTables } from './http-types.ts'
import { table } from './markdown-table.ts'
import { requirementCounts, requirementTables } from './requirements.ts'
import { typePages } from './type-tables.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The generated blocks of each page. */
const pages: Readonly<Record<string, Readonly<Record<string, () => string | Promise<string>>>>> = {
  'docs/reference/redis-keys.md': {
    partition: () => keyTable('partitionKeys', partitionKeys('T')),
    outbox: () => keyTable('outboxKeys', outboxKeys('T')),
    endpoints: () => keyTable('endpointKeys', endpointKeys('T')),
    allowance: () => keyTable('allowanceKeys', allowanceKeys('T', '<token>')),
    worker: () => keyTable('workerKeys', workerKeys('T', '<id>')),
    session: () => keyTable('sessionKeys', sessionKeys('T', '<id>')),
    channels: () => keyTable('sessionChannels', sessionChannels('T', '<session>', '<creator>')),
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
  if (name.includes('Bytes')) return value % 524_288 === 0 ? `${value / 1_048_576} MiB` : `${value} B`
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

/** The state that is shown for each state of a run and of its worker. */
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

if (import.meta.main) {
  const problems = await docsProblems(!process.argv.includes('--check'))
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
}
