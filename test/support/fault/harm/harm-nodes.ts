/** Nodes that die, stand still or are told to stop, one now and then. Another takes the place of one that has ended. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../fault-settings.ts'
import type { NodeProcess } from '../harness.ts'

export type Way = 'kill' | 'freeze' | 'drain'

export interface HarmedNodes {
  readonly random: Random
  /** Those that run now. */
  readonly nodes: NodeProcess[]
  /** How often it is done in one way follows from how often it stands here. */
  readonly ways: readonly Way[]
  readonly start: (name: string) => Promise<NodeProcess>
}

/** Resolves with how often it was done, once it is over. */
export async function harmNodes({ random, nodes, ways, start }: HarmedNodes, over: AbortSignal): Promise<number> {
  let faults = 0
  while (!over.aborted) {
    await pause(500 + 3_000 * random())
    const place = Math.floor(random() * nodes.length)
    const node = nodes[place] as NodeProcess
    const way = ways[Math.floor(random() * ways.length)]
    if (way === 'freeze') {
      node.freeze()
      await pause(3_000 * random())
      node.thaw()
    } else {
      await (way === 'drain' ? node.stop() : node.kill())
      nodes[place] = await start(node.name)
    }
    faults++
  }
  return faults
}

/** With thirty busy programs on two cores and a network that fails, a node needed more than two minutes and several starts. */
const startMsMax = 300_000

/** A node ends at its start if Redis cannot be reached for the time of a lease; whatever started it starts it again. */
export async function untilStarted(start: () => Promise<NodeProcess>): Promise<NodeProcess> {
  const give = performance.now() + startMsMax
  for (;;) {
    try {
      return await start()
    } catch (error) {
      if (performance.now() > give || !String(error).includes('store_')) throw error
    }
  }
}
