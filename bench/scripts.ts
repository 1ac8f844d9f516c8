/**
 * Duty: measures for how long scripts hold Redis with the most that a user may ask: the longest call of each script, by the slow log of Redis, in
 * scenes that take limits to their end. `npm run bench:scripts`; one line of JSON for each scene. The bound is 10 ms. Names of scenes as arguments
 * measure these alone; REPEATS says how often.
 */
import { fleetScenes } from './script-scenes/fleet.ts'
import { Measurement } from './script-scenes/measure.ts'
import { sessionScenes } from './script-scenes/sessions.ts'
import { stepScenes } from './script-scenes/steps.ts'

const scenes = { ...stepScenes, ...sessionScenes, ...fleetScenes }
const asked = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const names = asked.length > 0 ? asked : Object.keys(scenes)
const measurement = await Measurement.begin(Number(process.env.REPEATS ?? 5))
try {
  for (const name of names) {
    const scene = scenes[name]
    if (scene === undefined) throw new Error(`there is no scene ${name}; there are ${Object.keys(scenes).join(', ')}`)
    await measurement.print(name, scene)
  }
} finally {
  await measurement.end()
}
