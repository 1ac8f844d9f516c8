/**
 * Duty: a node in this process: its options, its log, and a node that helps one command and ends with it.
 * Such a node may also have taken turns of other sessions. After the command these turns get a moment, then other nodes continue them.
 */
import type { StartNodeOptions } from '../../compose.ts'
import type { Config } from '../../config.ts'
import type { RawEvent } from '../../core/event/event.ts'
import type { Logger } from '../../log.ts'
import {
  type LabelOf,
  type LogLevel,
  type LogRecord,
  lineBesideEvents,
  logLevels,
  nodeLogLine,
} from '../view/lines/log-line.ts'

/** How long turns of other sessions may go on after the command. */
const drainMsMax = 2_000

export interface LocalNode extends AsyncDisposable {
  /** The number of turns that run now. */
  readonly busy: number
}

/** The command that the node helps: where its lines go, and the names of the workers in them. */
export interface CommandOutput {
  readonly tell: (line: string) => void
  readonly labelOf?: LabelOf
}

/** Ids of nodes in this process. Their log lines are written as they come. */
const localNodes = new Set<string>()

/** True for a log line of a worker that another process runs, from this level on. */
export function isRemoteLog({ details }: RawEvent, least: string): boolean {
  const level = logLevels.find((known) => known === details.level)
  return level !== undefined && isWanted(level, least) && !localNodes.has(String(details.node))
}

export async function startLocalNode(
  config: Config,
  workers: StartNodeOptions['workers'],
  { tell, labelOf }: CommandOutput,
): Promise<LocalNode> {
  const { startNode } = await import('../../compose.ts')
  const logger = await lineLogger(config.logLevel, (record) => {
    const line = lineBesideEvents(record, labelOf)
    if (line !== undefined) tell(line)
  })
  const node = await startNode({ ...nodeOptions(config), workers, logger })
  localNodes.add(node.id)
  return {
    get busy() {
      return node.busy
    },
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => void node.stop({ force: true }), drainMsMax)
      await node.stop()
      clearTimeout(timer)
    },
  }
}

type NodeConfig = Pick<Config, 'redisUrl' | 'namespace' | 'partitions' | 'concurrency' | 'modelSettings'> &
  Partial<Pick<Config, 'webhooks'>>

export function nodeOptions(config: NodeConfig): Omit<StartNodeOptions, 'workers'> {
  const { redisUrl, namespace, partitions, concurrency, modelSettings: models, webhooks } = config
  return { redisUrl, namespace, partitions, concurrency, models, webhooks }
}

/** The log of `troupe node`: lines for people on a terminal, JSON elsewhere. */
export async function serviceLogger(
  config: Config,
  isTerminal: boolean,
  tell: (line: string) => void,
): Promise<Logger> {
  if (isTerminal) return lineLogger(config.logLevel, (record) => tell(nodeLogLine(record)))
  const { stderrLogger } = await import('../../log.ts')
  return stderrLogger(config.logLevel)
}

export async function lineLogger(least: string, write: (record: LogRecord) => void): Promise<Logger> {
  const { silentLogger } = await import('../../log.ts')
  const log = (level: LogLevel) => (fields: unknown, message?: unknown) => {
    if (isWanted(level, least)) write({ at: Date.now(), level, fields, message })
  }
  const levels = Object.fromEntries(logLevels.map((level) => [level, log(level)]))
  return Object.assign(silentLogger(), levels, {
    isLevelEnabled: (level: string) => isWanted(level as LogLevel, least),
  })
}

function isWanted(level: LogLevel, least: string): boolean {
  const from = (logLevels as readonly string[]).indexOf(least)
  return from >= 0 && logLevels.indexOf(level) >= from
}
