/** A node's way to the store that tells when its node knows of inputs that steer one of its runs: when a renewal has named so many. */
import type { TurnStore } from '../../../src/core/ports/ports.ts'
import { changedStore } from '../changed-store.ts'

export function notedSteers(count = 1, changed?: (turns: TurnStore) => Partial<TurnStore>) {
  const { promise: noted, resolve } = Promise.withResolvers<void>()
  const aroundTurns = (turns: TurnStore): TurnStore =>
    changedStore(turns, {
      async renew(requests) {
        const answer = await turns.renew(requests)
        for (const steers of answer.steered?.values() ?? []) if (steers.length >= count) setImmediate(resolve)
        return answer
      },
      ...changed?.(turns),
    })
  return { noted, aroundTurns }
}
