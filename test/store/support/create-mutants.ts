/** Mutants of what creating sessions rests on. */
import { createSessionsScript } from '../../../src/store/script/scripts.ts'
import * as checks from './create-checks.ts'
import type { Mutant } from './mutant.ts'

const script = createSessionsScript

export const createMutants: readonly Mutant[] = [
  {
    guard: 'a session is created once',
    script,
    from: "if redis.call('EXISTS', order.recordKey) == 0 then return nil end",
    to: 'if true then return nil end',
    check: checks.aSessionThatIsSentTwiceIsOne,
  },
  {
    guard: 'sessions that go together are created once',
    script,
    from: 'if not known.some then return nil end',
    to: 'if true then return nil end',
    check: checks.sessionsThatAreSentTwiceAreCreatedOnce,
  },
  {
    guard: 'the first session of each pool keeps its wake-ups',
    script,
    from: "set('startWakeups', order.wakeups, '')",
    to: '',
    check: checks.sessionsThatAreSentTwiceAreCreatedOnce,
  },
  {
    guard: 'a session that is asked for twice in one call is created once',
    script,
    from: "if first then return { first = first, word = 'again' } end",
    to: '',
    check: checks.aSessionAskedForTwiceIsOne,
  },
  {
    guard: 'a key that is given twice in one call is one session',
    script,
    from: 'if first then return { first = first, word = first.asked',
    to: 'if false then return { first = first, word = first.asked',
    check: checks.aKeyGivenTwiceInOneCallIsOneSession,
  },
  {
    guard: 'a key of another sort stops all before they write',
    script,
    from: "  checkSort('list', order.inboxKey)\n",
    to: '',
    check: checks.aForeignKeyStopsTheCallBeforeItWrites,
  },
  {
    guard: 'idempotency key of a session',
    script,
    from: 'if session then return',
    to: 'if false then return',
    check: checks.aKeyIsOneSession,
  },
]
