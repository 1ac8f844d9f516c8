/** Mutants of what sessions rest on as they are created. */
import { spawnScript, spawnsScript } from '../../../src/store/script/scripts.ts'
import type { Mutant } from './mutant.ts'
import * as checks from './spawn-checks.ts'

export const spawnMutants: readonly Mutant[] = [
  {
    guard: 'a session is created once',
    script: spawnScript,
    from: "if redis.call('ZADD', sessionsKey, 'NX', digits(now), sessionId) == 0 then",
    to: "redis.call('ZADD', sessionsKey, now, sessionId)\nif false then",
    check: checks.aSpawnSentTwiceIsOneSession,
  },
  {
    guard: 'sessions of one moment are created once',
    script: spawnsScript,
    from: "if redis.call('EXISTS', unpack(keys)) > 0 then",
    to: 'if false then',
    check: checks.spawnsSentTwiceAreThoseSessions,
  },
  {
    guard: 'the last of them keeps the wake-ups of all',
    script: spawnsScript,
    from: "index == #orders and wakeups or ''",
    to: "''",
    check: checks.spawnsSentTwiceAreThoseSessions,
  },
  {
    guard: 'a session that is asked for twice in one moment is created once',
    script: spawnsScript,
    from: 'if not isThere[order.session] then',
    to: 'if true then',
    check: checks.aSessionAskedForTwiceIsOne,
  },
  {
    guard: 'what is in the place of one of them stops all before they write',
    script: spawnsScript,
    from: 'for index = 1, #orders do checkRoot(orders[index].recordKey) end',
    to: '',
    check: checks.aForeignKeyStopsSpawnsBeforeTheyWrite,
  },
  {
    guard: 'idempotency key of spawn',
    script: spawnScript,
    from: 'if known then',
    to: 'if false then',
    check: checks.aKeyIsOneSession,
  },
]
