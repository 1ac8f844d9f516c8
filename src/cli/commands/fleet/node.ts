/** `troupe node`: a node for production. It runs until a signal stops it, and then drains. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type { StartNodeOptions } from '../../../compose.ts'
import { policy, retentionMsMin } from '../../../core/policy.ts'
import { configOf } from '../../host/connection.ts'
import { nodeOptions, serviceLogger } from '../../host/local-node.ts'
import { workersFolderDefault } from '../../host/worker-files.ts'
import {
  addConnectionOptions,
  addExamples,
  addModelOption,
  addNodeOptions,
  duration,
  type NodeFlags,
} from '../../options.ts'
import { commandEndMsMax, Interrupt } from '../../terminal/interrupt.ts'
import { print, printJson, safe, tell } from '../../terminal/output.ts'
import { onSuddenEnd } from '../../terminal/sudden-end.ts'

type MetricsAddress = NonNullable<StartNodeOptions['metrics']>

interface NodeCommandFlags extends NodeFlags {
  readonly retention?: number
  readonly drain?: number
  readonly pool?: readonly string[]
  readonly skipBroken?: boolean
  readonly folder?: string
  readonly metrics?: MetricsAddress
}

/** Returns the command, which has others below it. */
export function addNodeCommand(program: Command): Command {
  const command = program
    .command('node')
    .description('run a node until it is stopped')
    .option('--pool <name...>', 'only kinds of these pools')
    .option('--skip-broken', 'leave out files and kinds that cannot be used, instead of refusing to start')
    .option(
      '--retention <duration>',
      'how long finished sessions of the namespace stay; default: unchanged, at first 7d',
      retention,
    )
    .option('--folder <path>', 'no worker uses files outside of this folder, whatever its session permits', folder)
    .option(
      '--metrics <[host:]port>',
      'answer GET /metrics for Prometheus; on the loopback address unless a host is named',
      metricsAddress,
    )
    .option('--drain <duration>', 'how long a stop waits for running turns; default: 30s', duration)
  addConnectionOptions(addModelOption(addNodeOptions(command)))
  addExamples(command, [
    ['troupe node --workers ./workers', 'logs go to stderr: JSON lines, or plain lines on a terminal'],
    ['troupe node --model openai/gpt-5', 'the model for agents that name no model'],
    ['troupe node --pool gpu --concurrency 4', 'only the kinds of the pool gpu, four turns at a time'],
    ['troupe node --metrics 0.0.0.0:9464', 'Prometheus may scrape it from another machine'],
    ['troupe node --retention 30d --drain 15s', 'keep finished sessions for a month'],
  ])
  command.addHelpText(
    'after',
    '\nSIGTERM and SIGINT drain it: running turns end at their next step. A second\nsignal ends it at once. A lost terminal also drains it; without a terminal (nohup,\na service) it ignores SIGHUP.',
  )
  return command.action(node)
}

/** A parser for commander. The least is a minute, because callers that wait for a result read it from the finished session. */
function retention(text: string): number {
  const ms = duration(text)
  if (ms < retentionMsMin) throw new InvalidArgumentError('Expected at least a minute.')
  return ms
}

/** A parser for commander. A mistyped folder would let the node start and fail each run that uses files; an empty text would mean another folder. */
function folder(text: string): string {
  if (text === '' || !statSync(text, { throwIfNoEntry: false })?.isDirectory())
    throw new InvalidArgumentError('Expected a folder that exists.')
  return resolve(text)
}

/** A parser for commander: `9464`, `0.0.0.0:9464` or `[::]:9464`. */
function metricsAddress(text: string): MetricsAddress {
  const [, host, port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535)
    throw new InvalidArgumentError('Expected a port, or an address and a port like 0.0.0.0:9464.')
  return { host: host?.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}

async function node(flags: NodeCommandFlags): Promise<void> {
  const config = await configOf(flags)
  const logger = await serviceLogger(config, process.stderr.isTTY, tell)
  onSuddenEnd({ logger })
  using interrupt = new Interrupt(
    () => logger.info('draining; another signal ends this node at once'),
    (flags.drain ?? policy.drainMs) + commandEndMsMax,
  )
  const { startNode } = await import('../../../compose.ts')
  await using running = await startNode({
    ...nodeOptions(config),
    workers: config.workers ?? workersFolderDefault,
    logger,
    pools: flags.pool,
    skipBroken: flags.skipBroken,
    retentionMs: flags.retention,
    permissions: flags.folder === undefined ? undefined : { folder: flags.folder },
    drainMs: flags.drain,
    metrics: flags.metrics,
  })
  const { id, kinds, metricsUrl } = running
  const metrics = metricsUrl === null ? {} : { metrics: metricsUrl }
  if (flags.json)
    printJson({ type: 'ready', node: id, kinds, concurrency: config.concurrency, pid: process.pid, ...metrics })
  else print(`node ${safe(id)} is ready: ${config.concurrency} slots, kinds ${kinds.join(', ')}`)
  if (metricsUrl !== null && !flags.json) print(`metrics: ${metricsUrl}`)
  await interrupt.first
  await running.stop()
}
