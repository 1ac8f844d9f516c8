/** Mutants of what concerns packed histories. */
import { coldScript, packScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './pack-checks.ts'

export const packMutants: readonly Mutant[] = [
  {
    guard: 'nothing is packed of a worker that is gone',
    script: packScript,
    takenOut: 'line',
    check: checks.nothingIsPackedOfAWorkerThatIsGone,
  },
  {
    guard: 'nothing is packed of a worker that may run',
    script: packScript,
    takenOut: 'line',
    check: checks.nothingIsPackedOfAWorkerThatMayRun,
  },
  {
    guard: 'a pack takes the place of what its maker read',
    script: packScript,
    takenOut: 'line',
    check: checks.aPackTakesThePlaceOfWhatItsMakerRead,
  },
  {
    guard: 'a pack that is sent again is the same pack',
    script: packScript,
    takenOut: 'line',
    check: checks.aPackSentAgainIsTheSame,
  },
  {
    guard: 'an entry is packed once',
    script: packScript,
    takenOut: 'line',
    check: checks.whatIsPackedIsPackedOnce,
  },
  {
    guard: 'one node makes a walk over cold histories',
    script: coldScript,
    takenOut: 'line',
    check: checks.oneNodeMakesAWalk,
  },
  {
    guard: 'a walk over cold histories reads no list of workers that it does not look at',
    script: coldScript,
    takenOut: 'line',
    check: checks.aWalkReadsNoListOfWorkersForNothing,
  },
  {
    guard: 'walks over cold histories are a small part of the time',
    script: coldScript,
    takenOut: { value: '0' },
    check: checks.walksAreASmallPartOfTheTime,
  },
  {
    guard: 'a walk over cold histories outlives its node',
    script: coldScript,
    takenOut: 'line',
    check: checks.aWalkOutlivesItsNode,
  },
  {
    guard: 'a walk over cold histories passes over what it has packed',
    script: coldScript,
    takenOut: { token: ['math.max(0, endsFrom)', '0'] },
    check: checks.aWalkGoesOnBehindWhatItHasPacked,
  },
  {
    guard: 'a history that was written to a moment ago is not packed',
    script: coldScript,
    takenOut: 'line',
    check: checks.aYoungHistoryIsNotPacked,
  },
  {
    guard: 'a history that is about to be read is not packed',
    script: coldScript,
    takenOut: 'line',
    check: checks.aWalkPassesOverWorkersThatMayRun,
  },
]
