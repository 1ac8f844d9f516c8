/** The scenes of each script, one for each of its outcomes, with the call that is made in it. Empties the Redis of the place. */

import { FuzzScene } from '../fuzz.ts'
import type { Place } from '../place.ts'
import type { Sent } from '../wire.ts'
import { calls } from './calls.ts'

export interface ScriptScene {
  readonly name: string
  readonly scene: FuzzScene
  readonly sent: Sent
}

export async function scenesOf(sha: string, place: Place): Promise<ScriptScene[]> {
  const scenes: ScriptScene[] = []
  for (const { name, prepare } of calls) {
    await place.redis.flushdb()
    const make = await prepare(place)
    const before = await FuzzScene.take(place.redis, { sha, keyCount: 0, flat: [], reply: [] })
    await make()
    const { last } = place.wire
    if (last.sha === sha) scenes.push({ name, scene: before.with(last), sent: last })
  }
  return scenes
}
