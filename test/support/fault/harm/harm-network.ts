/** The network between programs and their Redis, which fails now and then for a moment; and a Redis that is killed and comes back. */
import { setTimeout as pause } from 'node:timers/promises'
import type { TcpProxy } from '../../redis/tcp-proxy.ts'
import type { Random } from '../fault-settings.ts'
import type { Harness } from '../harness.ts'

interface HarmedNetwork {
  readonly harness: Harness
  readonly random: Random
  readonly proxies: readonly TcpProxy[]
}

/** Resolves with how often it was done, once it is over. Then everything passes again. */
export async function harmNetwork({ harness, random, proxies }: HarmedNetwork, over: AbortSignal): Promise<number> {
  const one = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  let faults = 0
  for (; !over.aborted; faults++) {
    await pause(300 + 2_000 * random())
    const proxy = one(proxies)
    if (random() < 0.05) {
      await harness.killRedis()
      await pause(500 * random())
      await harness.restartRedis()
      continue
    }
    const ways = [
      () => proxy.cut(),
      () => proxy.blackhole(),
      () => proxy.forget(),
      () => proxy.cutReplies(),
      () => proxy.delay(100 * random()),
      () => proxy.resetWhen(() => random() < 0.01),
      () => proxy.loseReplies('', 1 + Math.floor(5 * random())),
    ]
    one(ways)()
    await pause(800 * random())
    mend(proxy)
  }
  for (const proxy of proxies) mend(proxy)
  return faults
}

function mend(proxy: TcpProxy): void {
  proxy.delay(0)
  proxy.resetWhen(() => false)
  proxy.loseReplies('', 0)
  proxy.mend()
}
