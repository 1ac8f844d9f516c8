/**
 * A process with a node, for a parent that starts another one when code changes (child-node.ts). It loads the worker files, says what it found,
 * and works when it is told to.
 * CHILD-1 Signals of the terminal are for the parent, which says what happens here. If the parent is gone, the node drains and ends.
 * CHILD-2 What code of users prints goes to the streams of this process, and the parent shows it.
 */
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { TroupeNode } from '../../../compose.ts'
import { type Config, readConfig } from '../../../config.ts'
import type { WorkerDefinition } from '../../../core/definition/define-worker.ts'
import type { ModelSettings } from '../../../core/definition/model.ts'
import { toComplaint } from '../../exit-code.ts'
import { endProcess, watchForSuddenEnd } from '../../terminal/sudden-end.ts'
import { definitionFacts } from '../../view/definition-facts.ts'
import type { LogRecord } from '../../view/lines/log-line.ts'
import { lineLogger, nodeOptions } from '../local-node.ts'
import type { KindProblem, LoadedKind, NodeSettings, ToChild, ToParent } from './messages.ts'

/** How long turns may go on after the parent is gone. */
const orphanDrainMs = 2_000

const offlineId = 'offline/rules'
const ours = new URL('../../../', import.meta.url).href
const sources = new Set<string>()
interface LoadedHere {
  readonly settings: NodeSettings
  readonly config: Config
  readonly kinds: ReadonlyMap<string, WorkerDefinition>
  readonly models: ModelSettings
}

let loaded: LoadedHere | undefined
let node: TroupeNode | undefined
let starting: Promise<void> | undefined

watchForSuddenEnd(false)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => void stop(orphanDrainMs))
process.on('message', (message: ToChild) => {
  const done =
    message.type === 'load' ? load(message.settings) : message.type === 'start' ? start() : stop(message.drainMs)
  done.catch(fail)
})

function tell(message: ToParent): void {
  if (process.connected) process.send?.(message)
}

function fail(thrown: unknown): void {
  const { code, message, exitCode } = toComplaint(thrown)
  process.send?.({ type: 'failed', code, message } satisfies ToParent, () => endProcess(exitCode))
}

async function load(settings: NodeSettings): Promise<void> {
  noteSources()
  const { readWorkers, unusableKinds } = await import('../../../compose.ts')
  const { kinds, broken, skipped } = await readWorkers(settings.workers)
  const config = readConfig(settings.flags)
  const { modelSettings } = config
  // Named, because the parent shows which kinds run on it: the node need not.
  const models = { ...modelSettings, default: modelSettings.default ?? offlineId }
  const unusable = await unusableKinds(kinds, models)
  for (const kind of unusable.keys()) kinds.delete(kind)
  loaded = { settings, config, kinds, models }
  const problems = [...problemsOf(broken, 'load'), ...problemsOf(unusable, 'use')]
  tell({ type: 'loaded', kinds: [...kinds].map(loadedKind), problems, skipped, sources: [...sources] })
}

function problemsOf(errors: ReadonlyMap<string, Error>, at: KindProblem['at']): KindProblem[] {
  return [...errors].map(([kind, { message }]) => ({ kind, message, at }))
}

function loadedKind([kind, definition]: readonly [string, WorkerDefinition]): LoadedKind {
  const { model, ...facts } = definitionFacts(definition)
  const isDefault = facts.sort === 'agent' && model === null
  return {
    kind,
    description: definition.description ?? '',
    ...facts,
    model: isDefault ? (loaded?.models.default ?? null) : model,
  }
}

/** Notes which files code of users consists of, from now on. A file that is imported and not there is noted too: it may come. */
function noteSources(): void {
  const note = (url: string) => {
    const isOfUser = url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(ours)
    if (isOfUser) sources.add(fileURLToPath(url))
  }
  registerHooks({
    resolve(specifier, context, next) {
      if (/^\.\.?\//.test(specifier) && context.parentURL?.startsWith('file:'))
        note(new URL(specifier, context.parentURL).href)
      return next(specifier, context)
    },
    load(url, context, next) {
      note(url)
      return next(url, context)
    },
  })
}

async function start(): Promise<void> {
  if (loaded === undefined) return
  starting = startWith(loaded)
  await starting
}

async function startWith({ settings, config, kinds, models }: LoadedHere): Promise<void> {
  const { startNode } = await import('../../../compose.ts')
  const logger = await lineLogger(config.logLevel, (record) => tell({ type: 'log', record: plain(record) }))
  const options = nodeOptions({ ...config, ...settings, modelSettings: models })
  node = await startNode({ ...options, workers: kinds, logger })
  tell({ type: 'started', nodeId: node.id })
}

async function stop(drainMs: number): Promise<void> {
  await starting?.catch(() => {})
  const timer = setTimeout(() => void node?.stop({ force: true }), drainMs)
  const stopped = node?.stop()
  tell({ type: 'draining' })
  await stopped
  clearTimeout(timer)
  endProcess(0)
}

/** The fields of a record may be anything; a message between processes is JSON. */
function plain(record: LogRecord): LogRecord {
  try {
    return JSON.parse(JSON.stringify(record)) as LogRecord
  } catch {
    return { ...record, fields: {}, message: String(record.message ?? record.fields) }
  }
}
