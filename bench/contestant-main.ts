/**
 * Duty: the program of one contestant's process. Each time the bench asks, it opens the contestant, measures a window and closes it.
 * It lives as long as the bench, so that its code is as warm as in a process that has worked for a while.
 * Started by measure/contestant-process.ts, with the contestant's id as its argument; ends with its parent.
 */
import type { Contestant } from './contestant.ts'
import { contestants, idleContestants } from './contestants.ts'
import type { Answer, Ask } from './measure/contestant-process.ts'
import { measureSteadyWindow } from './measure/steady-window.ts'
import { plainConnection } from './peers/connections.ts'

const contestant = contestantOf(process.argv[2])

function contestantOf(wanted: string | undefined): Contestant {
  const found = [...contestants, ...idleContestants].find(({ id }) => id === wanted)
  if (found === undefined) throw new Error(`There is no contestant ${wanted}.`)
  return found
}

async function measure({ place, load }: Ask): Promise<Answer> {
  const redis = plainConnection(place.redisUrl)
  try {
    const open = await contestant.open(place)
    try {
      return { window: await measureSteadyWindow(() => open.perform(), load, [redis]) }
    } finally {
      await open.close()
    }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  } finally {
    redis.disconnect()
  }
}

process.on('message', (ask: Ask) => void measure(ask).then((answer) => process.send?.(answer)))
process.once('disconnect', () => process.exit(0))
