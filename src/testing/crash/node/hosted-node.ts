/**
 * Duty: run a node with the workers of a scenario, in a process that obeys the messages of the test. Compiled modules are cached, so that later
 * processes start faster.
 */

import { stat } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { pathToFileURL } from 'node:url'
import { loadWorkers, startInternalNode, type TroupeNode } from '../../../compose.ts'
import { readModelSettings } from '../../../config.ts'
import { isWorkerDefinition, type WorkerDefinition } from '../../../core/definition/define-worker.ts'
import { ConfigError, RuntimeError } from '../../../core/errors.ts'
import { stderrLogger } from '../../../log.ts'
import { openModels } from '../../../models/model-source.ts'
import { scriptedReplies } from '../../scripted-replies.ts'
import { JournalWriter } from '../journal.ts'
import type { NodeNews, NodeOrder, NodeWord } from './node-order.ts'
import { Watch } from './watch.ts'
import { WatchedKinds } from './watched-kinds.ts'
import { WatchedTurns } from './watched-turns.ts'

type Begin = () => Promise<TroupeNode>

let begin: Promise<Begin> | undefined
let node: Promise<TroupeNode> | undefined

export async function obey(word: NodeWord): Promise<void> {
  try {
    if (word === 'begin') {
      node = begin?.then((start) => start())
      await node
      tell('begun')
    } else if (word === 'stop') {
      await (await node)?.stop()
      process.exit(0)
    } else {
      begin = load(word.order)
      await begin
      flushCompileCache()
      tell('loaded')
    }
  } catch (error) {
    const refused = error instanceof RuntimeError ? error.message : String((error as Error)?.stack ?? error)
    process.send?.({ refused } satisfies NodeNews, () => process.exit(1))
  }
}

function tell(news: NodeNews): void {
  process.send?.(news)
}

async function load(order: NodeOrder): Promise<Begin> {
  const { redisUrl, namespace, concurrency, policy } = order
  const watch = new Watch(new JournalWriter(order.journal), order.crashAt)
  const models = openModels(order.models ?? readModelSettings())
  const maker = new WatchedKinds(watch, (kind) => scriptedReplies(kind, order.replies) ?? models)
  const kinds = [...(await definitionsAt(order.workers))].map(([name, definition]) => maker.make(name, definition))
  const known = new Set(kinds.map(({ name }) => name))
  if (!known.has(order.kind))
    throw new ConfigError(`${order.workers} does not define kind "${order.kind}"; it defines ${[...known].join(', ')}.`)
  for (const kind of Object.keys(order.replies))
    if (!known.has(kind)) throw new ConfigError(`replies names kind "${kind}", which ${order.workers} does not define.`)
  return () =>
    startInternalNode({
      redisUrl,
      namespace,
      concurrency,
      policy,
      kinds,
      logger: stderrLogger('warn'),
      aroundTurns: (turns) => new WatchedTurns(turns, watch),
      onStopped: () => maker.close(),
    })
}

async function definitionsAt(path: string): Promise<ReadonlyMap<string, WorkerDefinition>> {
  if ((await stat(path)).isDirectory()) return loadWorkers(path)
  const module = (await import(pathToFileURL(path).href)) as { workers?: unknown; default?: unknown }
  const given = module.workers ?? module.default
  const entries = given instanceof Map ? [...given] : Object.entries(given ?? {})
  if (entries.length === 0 || !entries.every(([, one]) => isWorkerDefinition(one))) {
    throw new ConfigError(`${path} must export its workers by kind: export const workers = { clerk: defineWorker(…) }.`)
  }
  return new Map(entries as [string, WorkerDefinition][])
}
