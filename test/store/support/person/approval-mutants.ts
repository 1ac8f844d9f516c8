/** Mutants of what a session says of approvals. */
import { approvalScript, claimScript, commitScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './approval-checks.ts'

export const approvalMutants: readonly Mutant[] = [
  {
    guard: 'a session whose approvals are set has a root',
    script: approvalScript,
    takenOut: 'line',
    check: checks.approvalsOfNoSessionAreNotSet,
  },
  {
    guard: 'trust in a tool that is sent again undoes no later policy',
    script: approvalScript,
    takenOut: 'line',
    check: checks.trustThatIsSentAgainUndoesNoPolicy,
  },
  {
    guard: 'a new policy takes all trust back',
    script: approvalScript,
    takenOut: { value: 'tools' },
    check: checks.aSessionSaysWhoIsTrusted,
  },
  {
    guard: 'a tool is trusted once',
    script: approvalScript,
    takenOut: { operandAfter: 1 },
    check: checks.aSessionSaysWhoIsTrusted,
  },
  {
    guard: 'trust in other tools stays',
    script: approvalScript,
    takenOut: { value: 'tool' },
    check: checks.aSessionSaysWhoIsTrusted,
  },
  {
    guard: 'an assignment holds what the session says of approvals',
    script: claimScript,
    takenOut: 'line',
    check: checks.aClaimAnswersWhatTheSessionSays,
  },
  {
    guard: 'a commit answers what the session says of approvals',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCommitAnswersWhatTheSessionSays,
  },
  {
    guard: 'a commit that is sent again answers what the session says of approvals',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCommitThatIsSentAgainAnswersWhatTheSessionSays,
  },
]
