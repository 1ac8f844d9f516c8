/** A crash matrix in a process of its own, to be ended by a signal in the middle of a run. Argument: the Redis to use. */
import { call, crashMatrix, type RunPlace, say } from 'troupe/test'

process.on('disconnect', () => process.exit(1))
await crashMatrix({
  workers: new URL('../testing/scenarios/payments.ts', import.meta.url),
  kind: 'payer',
  input: (place: RunPlace) => {
    process.send?.(place)
    return { folder: place.folder, cents: 250 }
  },
  replies: { payer: [call('pay'), say('done')] },
  redisUrl: process.argv[2] as string,
})
process.disconnect()
