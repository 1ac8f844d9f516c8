/** Duty: many lives, each from a seed of its own, so that one that went wrong can be lived again. */
import { requestFaults } from '../models/support/request-rules.ts'
import { senders } from '../models/support/sent-requests.ts'
import { seeded } from '../support/fault/fault-settings.ts'
import { Life } from './life.ts'
import { noCounts } from './life-counts.ts'

/** One prompt of this many is sent by every protocol, and checked by the rules of its provider. */
const sentEvery = 40
/** A report of more is of no use. */
const faultsMost = 20

/** `onLived` is told how many lives are over. */
export async function liveMany(
  seed: number,
  count: number,
  untilMs = Number.POSITIVE_INFINITY,
  onLived: (lives: number) => void = () => {},
) {
  const counts = noCounts()
  const faults: string[] = []
  let lives = 0
  for (; lives < count && faults.length < faultsMost && Date.now() < untilMs; lives++) {
    const own = (seed + lives) | 0
    const sent: string[] = []
    const life = new Life(seeded(own), counts, async (request) => {
      if (counts.prompts % sentEvery !== 0) return
      for (const { protocol, bodyOf, name } of senders)
        for (const fault of requestFaults(protocol, await bodyOf(request))) sent.push(`${name}: ${fault}`)
    })
    await life.live()
    for (const fault of [...life.faults, ...sent]) faults.push(`seed ${own}: ${fault}`)
    onLived(lives + 1)
  }
  return { lives, counts, faults }
}
