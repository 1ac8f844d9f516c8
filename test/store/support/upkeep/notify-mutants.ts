/** Mutants of notices. */
import {
  closeScript,
  commitScript,
  endpointScript,
  finishScript,
  fireScript,
  listenScript,
  pruneScript,
  sweepScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './notify-checks.ts'

const later: Mutant = {
  guard: 'a session that was retried while its notice was sent gets another notice',
  script: fireScript,
  takenOut: { value: 'false' },
  check: checks.aLaterEndIsTold,
}

const rows = [
  ['the result of a session that ends goes where its creator said', commitScript, checks.anEndIsToBeTold],
  ['the result of a session that ends goes where its creator said', closeScript, checks.aClosedSessionIsToBeTold],
  ['a notice is sent once', fireScript, checks.aResultIsToldOnce],
  ['a pruned session has no further notices', pruneScript, checks.aPrunedSessionIsToldOfNoMore],
  ['endpoints get the end of a session', commitScript, checks.anEndIsHeard],
  ['endpoints get the end of a session', closeScript, checks.aCloseIsHeard],
  ['endpoints get the end of a session', finishScript, checks.aCancelIsHeard],
  ['endpoints get an ask', commitScript, checks.anAskIsHeard],
  ['endpoints get a dead letter', commitScript, checks.aDeadLetterIsHeard],
  ['an endpoint gets notices after the clock was set back', sweepScript, checks.aListenerIsToldAfterTheClockWasSetBack],
  ['an endpoint that somebody else changed is not overwritten', endpointScript, checks.aChangedEndpointIsReadAgain],
] as const

export const notifyMutants: readonly Mutant[] = [
  ...rows.map(([guard, script, check]) => ({ guard, script, takenOut: 'line', check }) as const),
  later,
  {
    guard: 'a notice that nobody can tell comes back ever more rarely',
    script: fireScript,
    takenOut: { token: [' * 2 ^ times', ''] },
    check: checks.anUntoldNoticeComesEverMoreRarely,
  },
  {
    guard: 'endpoints are bounded',
    script: endpointScript,
    takenOut: { condition: 'false' },
    check: checks.endpointsAreBounded,
  },
  {
    guard: 'an endpoint that listens already keeps the time from which it listens',
    script: listenScript,
    takenOut: { token: ["'NX', ", ''] },
    check: checks.aListenerStays,
  },
]
