/**
 * Input under attack: whatever a script is given, and whatever it finds stored, an error means that it has written nothing. An answer that refuses
 * means the same.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as scripts from '../../src/store/script/scripts.ts'
import { isLong, withSeed } from '../support/fault/fault-settings.ts'
import { loadScripts } from '../support/redis/load-scripts.ts'
import { RedisServer } from '../support/redis/redis-server.ts'
import { scenesOf } from './support/calls/script-scenes.ts'
import type { FuzzScene } from './support/fuzz.ts'
import { Place } from './support/place.ts'

const callsOfEach = isLong ? 10_000 : 300
/** At least this many calls of each script must have met an error. Scripts with few arguments and keys need more calls than others: about 6 of 100 reach one. */
const errorsOfEach = callsOfEach / 20
const callsMost = 10 * callsOfEach

/** Answers of which the headers say that nothing was written. */
const refusals = new Set(['conflict', 'cancelled', 'refused', 'fenced', 'not_found', 'terminal', 'session_finished'])
for (const word of ['mailbox_full', 'no_letter', 'no_message', 'finished', 'again', 'busy', 'moved', 'lost', 'over'])
  refusals.add(word)

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start({ durability: 'none' })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** The word of a script's answer; if the answer is one of several calls, the word that all of them have. */
function wordOf(reply: unknown): string {
  if (!Array.isArray(reply)) return ''
  const [first] = reply as unknown[]
  if (!Array.isArray(first)) return String(first)
  return reply.every((answer) => wordOf(answer) === String(first[0])) ? String(first[0]) : ''
}

describe.each(Object.values(scripts))('$file', ({ sha }) => {
  test(
    'a script writes nothing when it answers with an error or a refusal',
    { timeout: isLong ? 1_200_000 : 400_000 },
    () =>
      withSeed(async (random) => {
        await using place = await Place.open({ redisUrl: server.url })
        const scenes = (await scenesOf(sha, place)).map(({ scene }) => scene)
        expect(scenes).not.toEqual([])
        await loadScripts(place.redis)
        let errors = 0
        for (let number = 0; number < callsOfEach || (errors <= errorsOfEach && number < callsMost); number++) {
          const scene = scenes[number % scenes.length] as FuzzScene
          const attack = await scene.attack(random)
          if (attack.error !== null) errors++
          const word = wordOf(attack.reply)
          const isRefused = attack.error !== null || refusals.has(word)
          if (isRefused && attack.hasWritten)
            throw new Error(`${attack.error?.message ?? word} after a write; ${attack.what.join('; ')}`)
        }
        expect(errors).toBeGreaterThan(errorsOfEach)
      }),
  )
})
