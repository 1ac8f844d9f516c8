/** Mutants of what dead letters, damaged keys and keys that were used before rest on. */
import {
  cancelScript,
  claimScript,
  commitScript,
  pruneScript,
  redriveScript,
  renewScript,
  spawnScript,
} from '../../../src/store/scripts.ts'
import * as checks from './letter-checks.ts'
import type { Mutant } from './mutant.ts'

export const letterMutants: readonly Mutant[] = [
  {
    guard: 'a key of spawn is told to have begun something else',
    script: spawnScript,
    from: 'if knownAsked ~= asked then',
    to: 'if false then',
    check: checks.aKeyOfSomethingElseIsTold,
  },
  {
    guard: 'a letter is put back once',
    script: redriveScript,
    from: 'if id == letter then',
    to: 'if false then',
    check: checks.aLetterIsPutBackOnce,
  },
  {
    guard: 'a letter goes to its own worker',
    script: redriveScript,
    from: "if fields.worker ~= worker then return { 'no_letter' } end",
    to: '',
    check: checks.aLetterGoesToItsOwnWorker,
  },
  {
    guard: 'a finished session takes no letter',
    script: redriveScript,
    from: "if state ~= 'active' then",
    to: 'if false then',
    check: checks.aFinishedSessionTakesNoLetter,
  },
  {
    guard: 'a damaged worker leaves the line for a while',
    script: claimScript,
    from: 'damaged[#damaged + 1] = candidates[index]',
    to: 'gone[#gone + 1] = candidates[index]',
    check: checks.aDamagedWorkerComesBack,
  },
  {
    guard: 'a worker that could not commit is looked at first',
    script: claimScript,
    from: '  if starts > 0 then',
    to: '  if false then',
    check: checks.aDamagedWorkerIsNotStartedAgain,
  },
  {
    guard: 'keys are looked at before the first write',
    script: commitScript,
    from: 'lengthOf(userKey) - userUsed or 0',
    to: '0',
    check: checks.aCommitThatFailsWritesNothing,
  },
  {
    guard: 'a renewal ends the turn that is damaged, and no other',
    script: renewScript,
    from: 'pcall(readTurn, record, worker, token)',
    to: 'true, readTurn(record, worker, token)',
    check: checks.aDamagedRootEndsOneTurn,
  },
  {
    guard: 'a count of results that is none tears no commit',
    script: commitScript,
    from: '(tonumber(plan.family) or math.huge)',
    to: 'tonumber(plan.family)',
    check: checks.aCountOfResultsTearsNoCommit,
  },
  {
    guard: 'a wait that is none tears no commit',
    script: commitScript,
    from: '(tonumber(string.sub(wait, 8)) or 0)',
    to: 'tonumber(string.sub(wait, 8))',
    check: checks.aWaitTearsNoCommit,
  },
  {
    guard: 'a count that Redis cannot count up tears no cancel',
    script: cancelScript,
    from: "checkCount(rootKey, 'marks', marks)",
    to: '',
    check: checks.aCountThatIsTooLargeTearsNoCancel,
  },
  {
    guard: 'a count that Redis cannot count up tears no pruning',
    script: pruneScript,
    from: " or string.format('%.0f', count) ~= (text or '0')",
    to: '',
    check: checks.aCountThatIsNoneTearsNoPruning,
  },
]
