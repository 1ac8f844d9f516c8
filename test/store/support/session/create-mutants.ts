/** Mutants of what creating sessions rests on. */
import { createSessionsScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './create-checks.ts'

const script = createSessionsScript

export const createMutants: readonly Mutant[] = [
  { guard: 'the history of a session stays', script, takenOut: 'line', check: checks.aLongHistoryStays },
  {
    guard: 'a session begins with all of its history',
    script,
    takenOut: { value: 'false' },
    check: checks.aSessionBeginsWithAllOfItsHistory,
  },
  {
    guard: 'a session is created once',
    script,
    takenOut: { condition: 'true' },
    check: checks.aSessionThatIsSentTwiceIsOne,
  },
  {
    guard: 'sessions that go together are created once',
    script,
    takenOut: { condition: 'true' },
    check: checks.sessionsThatAreSentTwiceAreCreatedOnce,
  },
  {
    guard: 'the first session of each pool keeps its wake-ups',
    script,
    takenOut: 'line',
    check: checks.sessionsThatAreSentTwiceAreCreatedOnce,
  },
  {
    guard: 'a session that comes twice in one call is created once',
    script,
    takenOut: 'line',
    check: checks.aSessionAskedForTwiceIsOne,
  },
  {
    guard: 'a key that comes twice in one call is one session',
    script,
    takenOut: 'line',
    check: checks.aKeyGivenTwiceInOneCallIsOneSession,
  },
  {
    guard: 'a client that knows fewer partitions begins no session under a key',
    script,
    takenOut: 'line',
    check: checks.whoKnowsFewerPartitionsBeginsNoSession,
  },
  {
    guard: 'a key of another type stops a script before it writes',
    script,
    takenOut: 'line',
    check: checks.aForeignKeyStopsTheCallBeforeItWrites,
  },
  {
    guard: 'a session without a first message rests',
    script,
    takenOut: { token: ["'idle'", "'queued'"] },
    check: checks.aSessionMayRestWithAHistory,
  },
  {
    guard: 'a worker that begins with a history knows of it',
    script,
    takenOut: 'line',
    check: checks.aSessionMayRestWithAHistory,
  },
  {
    guard: 'idempotency key of a session',
    script,
    takenOut: 'line',
    check: checks.aKeyIsOneSession,
  },
]
