/** `troupe node`: a node for production: runs until it is told to stop, then drains. */
import type { Command } from 'commander'
import { policy } from '../core/policy.ts'
import { configOf } from './connection.ts'
import { commandEndMsMax, Interrupt } from './interrupt.ts'
import { nodeOptions, serviceLogger } from './node-options.ts'
import { addConnectionOptions, addExamples, addModelOption, addNodeOptions, type NodeFlags } from './options.ts'
import { print, printJson, safe } from './output.ts'
import { onSuddenEnd } from './sudden-end.ts'
import { workersFolderDefault } from './workers-folder.ts'

interface NodeCommandFlags extends NodeFlags {
  readonly pool?: readonly string[]
}

export function addNodeCommand(program: Command): void {
  const command = program
    .command('node')
    .description('run a node until it is stopped')
    .option('--pool <name...>', 'only kinds of these pools')
  addConnectionOptions(addModelOption(addNodeOptions(command)))
  addExamples(command, [
    ['troupe node --workers ./workers', 'logs are JSON lines on stderr'],
    ['troupe node --model openai/gpt-5', 'the model of agents that name none'],
    ['troupe node --pool gpu --concurrency 4', 'only the kinds of the pool gpu, four turns at a time'],
  ])
  command.addHelpText(
    'after',
    '\nSIGTERM and SIGINT drain it: turns that run end at their next step.\nA second signal ends it at once.',
  )
  command.action(node)
}

async function node(flags: NodeCommandFlags): Promise<void> {
  const config = await configOf(flags)
  const logger = await serviceLogger(config)
  onSuddenEnd({ logger })
  using interrupt = new Interrupt(
    () => logger.info('draining; another signal ends this node at once'),
    policy.drainMs + commandEndMsMax,
  )
  const { startNode } = await import('../compose.ts')
  await using running = await startNode({
    ...nodeOptions(config),
    workers: config.workers ?? workersFolderDefault,
    logger,
    ...(flags.pool === undefined ? {} : { pools: [...flags.pool] }),
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
