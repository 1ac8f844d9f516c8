/** Mutants of the permissions that sessions keep. */
import { claimScript, commitScript, createSessionsScript, pruneScript } from '../../../../src/store/script/scripts.ts'
import { noneWhosePermissionsCannotBeKeptIsStartedAgain } from '../mail/letter-checks.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './permission-checks.ts'

const line = (script: Mutant['script'], guard: string, check: Mutant['check']): Mutant => ({
  guard,
  script,
  takenOut: 'line',
  check,
})

export const permissionMutants: readonly Mutant[] = [
  line(
    claimScript,
    'an assignment holds the permissions that its record names',
    checks.aClaimHoldsThePermissionsOfItsWorker,
  ),
  line(commitScript, 'lost permissions permit nothing', checks.permissionsThatAreLostStopTheirWorker),
  line(createSessionsScript, 'the permissions that a root names are kept', checks.aClaimHoldsThePermissionsOfItsWorker),
  line(commitScript, 'the permissions that children name are kept', checks.aClaimHoldsThePermissionsOfItsWorker),
  line(
    commitScript,
    'a commit is whole even if permissions of children cannot be kept',
    checks.aCommitThatCannotKeepPermissionsWritesNothing,
  ),
  line(
    claimScript,
    'a worker that could not commit is checked first: the permissions of its session',
    noneWhosePermissionsCannotBeKeptIsStartedAgain,
  ),
  line(pruneScript, 'the permissions of a session go with it', checks.permissionsGoWithTheirSession),
]
