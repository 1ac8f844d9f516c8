/** Duty: workers of a tree that wait until they are aborted, and what the bench, in the same process, sees of them. */
import { EventEmitter, once } from 'node:events'
import { defineWorker } from 'troupe'

const seen = new EventEmitter()
const counts = { begun: 0, aborted: 0 }

/** Waits until the signal of its run fires. */
export const held = defineWorker({
  receive(_message, self) {
    counts.begun++
    seen.emit('begun')
    return new Promise<void>((_, reject) => {
      self.signal.addEventListener('abort', () => {
        counts.aborted++
        seen.emit('aborted')
        reject(self.signal.reason as Error)
      })
    })
  },
})

/** Spawns as many of them as its input says. */
export const holder = defineWorker<null, number>({
  spawns: ['held'],
  receive(message, self) {
    if (message.kind === 'input') for (let index = 0; index < message.value; index++) self.spawn('held', null)
  },
})

/** Both count from the last call of `reset`. */
export const heldWorkers = {
  reset(): void {
    Object.assign(counts, { begun: 0, aborted: 0 })
  },
  async whenBegun(count: number): Promise<void> {
    while (counts.begun < count) await once(seen, 'begun')
  },
  /** Resolves with the moment of the last abort. */
  async whenAborted(count: number): Promise<number> {
    let at = performance.now()
    while (counts.aborted < count) {
      await once(seen, 'aborted')
      at = performance.now()
    }
    return at
  },
}
