/**
 * Duty: a node in this process that only helps a command, and goes with it.
 * Other sessions of the namespace may have given it work as well: when the command is done they get a moment, then another node
 * goes on with them.
 */
import type { StartNodeOptions } from '../../compose.ts'
import type { Config } from '../../config.ts'
import { commandLogger, nodeOptions } from './node-options.ts'

/** How long turns of other sessions may go on after the command is done. */
const drainMsMax = 2_000

export interface LocalNode extends AsyncDisposable {
  /** Turns running now. */
  readonly busy: number
}

export async function startLocalNode(
  config: Config,
  workers: StartNodeOptions['workers'],
  tell: (line: string) => void,
): Promise<LocalNode> {
  const { startNode } = await import('../../compose.ts')
  const logger = await commandLogger(config.logLevel, tell)
  const node = await startNode({ ...nodeOptions(config), workers, logger })
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
