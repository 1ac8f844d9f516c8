/** `troupe node`: a node for production: runs until it is told to stop, then drains. */
import { type Command, InvalidArgumentError } from 'commander'
import { policy, retentionMsMin } from '../../core/policy.ts'
import { configOf } from '../host/connection.ts'
import { nodeOptions, serviceLogger } from '../host/node-options.ts'
import { workersFolderDefault } from '../host/workers-folder.ts'
import {
  addConnectionOptions,
  addExamples,
  addModelOption,
  addNodeOptions,
  duration,
  type NodeFlags,
} from '../options.ts'
import { commandEndMsMax, Interrupt } from '../terminal/interrupt.ts'
import { print, printJson, safe } from '../terminal/output.ts'
import { onSuddenEnd } from '../terminal/sudden-end.ts'

interface NodeCommandFlags extends NodeFlags {
  readonly retention?: number
  readonly drain?: number
  readonly pool?: readonly string[]
}

export function addNodeCommand(program: Command): void {
  const command = program
    .command('node')
    .description('run a node until it is stopped')
    .option('--pool <name...>', 'only kinds of these pools')
    .option(
      '--retention <duration>',
      'keep finished sessions of the namespace so long; default: as before, or 7d',
      retention,
    )
    .option('--drain <duration>', 'when stopped, wait so long for turns that run; default: 30s', duration)
  addConnectionOptions(addModelOption(addNodeOptions(command)))
  addExamples(command, [
    ['troupe node --workers ./workers', 'logs are JSON lines on stderr'],
    ['troupe node --model openai/gpt-5', 'the model of agents that name none'],
    ['troupe node --pool gpu --concurrency 4', 'only the kinds of the pool gpu, four turns at a time'],
    ['troupe node --retention 30d --drain 15s', 'finished sessions stay for a month'],
  ])
  command.addHelpText(
    'after',
    '\nSIGTERM and SIGINT drain it: turns that run end at their next step.\nA second signal ends it at once.',
  )
  command.action(node)
}

/** A parser for commander: who waits for a result still reads it from the session. */
function retention(text: string): number {
  const ms = duration(text)
  if (ms < retentionMsMin) throw new InvalidArgumentError('Expected a minute at least.')
  return ms
}

async function node(flags: NodeCommandFlags): Promise<void> {
  const config = await configOf(flags)
  const logger = await serviceLogger(config)
  onSuddenEnd({ logger })
  using interrupt = new Interrupt(
    () => logger.info('draining; another signal ends this node at once'),
    (flags.drain ?? policy.drainMs) + commandEndMsMax,
  )
  const { startNode } = await import('../../compose.ts')
  await using running = await startNode({
    ...nodeOptions(config),
    workers: config.workers ?? workersFolderDefault,
    logger,
    pools: flags.pool,
    retentionMs: flags.retention,
    drainMs: flags.drain,
  })
  const { id, kinds } = running
  if (flags.json) printJson({ type: 'ready', node: id, kinds, concurrency: config.concurrency, pid: process.pid })
  else print(`node ${safe(id)} is ready: ${config.concurrency} slots, kinds ${kinds.join(', ')}`)
  await whenAborted(interrupt.signal)
  await running.stop()
}

function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  // A signal handler alone keeps no process alive; the node's connections do.
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
