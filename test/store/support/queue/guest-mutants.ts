/** Mutants of what concerns runs whose gates are in another partition. */
import { commitScript, enterScript, fireScript, guestScript, hostScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './guest-checks.ts'

export const guestMutants: readonly Mutant[] = [
  {
    guard: 'a guest whose run ends frees its place',
    script: commitScript,
    takenOut: 'line',
    check: checks.aGuestThatEndsLetsTheNextBegin,
  },
  {
    guard: 'a guest learns that it may begin',
    script: fireScript,
    takenOut: 'line',
    check: checks.aGuestThatEndsLetsTheNextBegin,
  },
  {
    guard: 'a guest that is over leaves its place',
    script: hostScript,
    takenOut: 'line',
    check: checks.aGuestThatEndsLetsTheNextBegin,
  },
  {
    guard: 'a guest that may begin is in progress',
    script: guestScript,
    takenOut: 'line',
    check: checks.aGuestThatEndsLetsTheNextBegin,
  },
  {
    guard: 'a guest that is gone frees its place',
    script: fireScript,
    takenOut: 'line',
    check: checks.aPlaceOfAGuestThatIsGoneIsGivenAway,
  },
  {
    guard: 'a guest that may still come keeps its place',
    script: guestScript,
    takenOut: { value: "'out'" },
    check: checks.aGuestThatMayStillComeKeepsItsPlace,
  },
  {
    guard: 'a guest that asked and did not come frees its place',
    script: hostScript,
    takenOut: 'line',
    check: checks.aGuestThatAskedAndDidNotComeFreesItsPlace,
  },
  {
    guard: 'a guest is reported from time to time',
    script: enterScript,
    takenOut: 'line',
    check: checks.aGuestThatTheFirstPartitionForgotBegins,
  },
  {
    guard: 'a guest that waits keeps the numbers of its gates',
    script: enterScript,
    takenOut: 'line',
    check: checks.guestsOfAGateThatHasGoneBeginAsItAllowed,
  },
  {
    guard: 'numbers of a run that waits count only where its gate has gone',
    script: hostScript,
    takenOut: { value: 'true' },
    check: checks.aGuestThatWaitsChangesNoNumbers,
  },
  {
    guard: 'a guest in progress counts, even if its place was lost',
    script: hostScript,
    takenOut: 'line',
    check: checks.aGuestInProgressCountsAgain,
  },
  {
    guard: 'a guest that was not counted is asked again whether it is over',
    script: hostScript,
    takenOut: 'line',
    check: checks.aGuestThatIsSaidToBeInTooLateLeaves,
  },
  {
    guard: 'a guest that is cancelled before it begins is told of at once',
    script: enterScript,
    takenOut: { value: 'now + gateLookMs' },
    check: checks.aGuestThatIsCancelledBeforeItBeginsFreesItsPlace,
  },
  {
    guard: 'a guest that is over leaves the queue of its gate',
    script: hostScript,
    takenOut: 'line',
    check: checks.aGuestThatWasCancelledWaitsNoMore,
  },
  {
    guard: 'a guest that asks again takes no other place',
    script: hostScript,
    takenOut: { condition: 'false' },
    check: checks.aGuestThatAsksAgainTakesNoOtherPlace,
  },
  {
    guard: 'a guest that asks again keeps its turn',
    script: hostScript,
    takenOut: { condition: 'false' },
    check: checks.aGuestThatAsksAgainKeepsItsTurn,
  },
  {
    guard: 'a guest of a paused session takes no place',
    script: guestScript,
    takenOut: { condition: 'false' },
    check: checks.aGuestOfAPausedSessionTakesNoPlace,
  },
  {
    guard: 'a guest that was passed over asks under another name',
    script: guestScript,
    takenOut: 'line',
    check: checks.aGuestOfAPausedSessionTakesNoPlace,
  },
  {
    guard: 'a guest is reported until the first partition knows that it is over',
    script: guestScript,
    takenOut: 'line',
    check: checks.aGuestIsToldOfUntilItIsKnown,
  },
]
