/** Mutants of the blobs of sessions. */
import { createSessionsScript, keepBlobScript, pruneScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './blob-checks.ts'

export const blobMutants: readonly Mutant[] = [
  {
    guard: 'no blob is kept for a session that is gone',
    script: keepBlobScript,
    takenOut: 'line',
    check: checks.nothingIsKeptOfASessionThatIsGone,
  },
  {
    guard: 'a blob that is there counts once',
    script: keepBlobScript,
    takenOut: { value: 'size' },
    check: checks.aBlobThatIsThereCountsOnce,
  },
  {
    guard: 'a blob that was kept need not be sent again',
    script: keepBlobScript,
    takenOut: 'line',
    check: checks.aBlobThatWasKeptNeedNotBeSentAgain,
  },
  { guard: 'a blob that is kept stays', script: keepBlobScript, takenOut: 'line', check: checks.aBlobThatIsKeptStays },
  { guard: 'a blob is kept whole', script: keepBlobScript, takenOut: 'line', check: checks.aBlobIsKeptWhole },
  {
    guard: 'the first blobs of a session stay',
    script: createSessionsScript,
    takenOut: 'line',
    check: checks.theFirstBlobsOfASessionStay,
  },
  {
    guard: 'a session begins with all of its blobs',
    script: createSessionsScript,
    takenOut: { condition: 'true' },
    check: checks.aSessionBeginsWithAllOfItsBlobs,
  },
  {
    guard: 'blobs of a session are bounded',
    script: keepBlobScript,
    takenOut: 'line',
    check: checks.blobsOfASessionAreBounded,
  },
  {
    guard: 'the blobs of a session go with it',
    script: pruneScript,
    takenOut: 'line',
    check: checks.theBlobsOfASessionGoWithIt,
  },
  {
    guard: 'a pruning is whole even if blobs cannot be read',
    script: pruneScript,
    takenOut: 'line',
    check: checks.blobsThatCannotBeReadKeepTheirSession,
  },
]
