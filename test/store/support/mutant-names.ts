/** Mutants with the name of the check that catches each. */

import * as agentChecks from './agent-checks.ts'
import * as allowanceChecks from './allowance-checks.ts'
import * as amendChecks from './amend-checks.ts'
import * as approvalChecks from './approval-checks.ts'
import * as askChecks from './ask-checks.ts'
import * as batchChecks from './batch-checks.ts'
import * as blobChecks from './blob-checks.ts'
import * as cancelChecks from './cancel-checks.ts'
import * as checks from './checks.ts'
import * as costChecks from './cost-checks.ts'
import * as createChecks from './create-checks.ts'
import * as endChecks from './end-checks.ts'
import * as endingChecks from './ending-checks.ts'
import * as fairChecks from './fair-checks.ts'
import * as forkChecks from './fork-checks.ts'
import * as gateChecks from './gate-checks.ts'
import * as largeChecks from './large-checks.ts'
import * as letterChecks from './letter-checks.ts'
import * as lineChecks from './line-checks.ts'
import type { Mutant } from './mutant.ts'
import * as notifyChecks from './notify-checks.ts'
import * as outboxChecks from './outbox-checks.ts'
import * as packChecks from './pack-checks.ts'
import * as pauseChecks from './pause-checks.ts'
import * as permissionChecks from './permission-checks.ts'
import * as releaseChecks from './release-checks.ts'
import * as restChecks from './rest-checks.ts'
import * as retryChecks from './retry-checks.ts'
import * as sendChecks from './send-checks.ts'
import * as spendingChecks from './spending-checks.ts'
import * as startChecks from './start-checks.ts'
import * as steerChecks from './steer-checks.ts'
import * as timerChecks from './timer-checks.ts'
import * as wakeupChecks from './wakeup-checks.ts'

export function withNames(mutants: readonly Mutant[]): (Mutant & { readonly caughtBy: string })[] {
  const all = [
    checks,
    agentChecks,
    amendChecks,
    approvalChecks,
    askChecks,
    cancelChecks,
    largeChecks,
    letterChecks,
    lineChecks,
    wakeupChecks,
    costChecks,
    notifyChecks,
    restChecks,
    spendingChecks,
    batchChecks,
    createChecks,
    retryChecks,
    sendChecks,
    outboxChecks,
    packChecks,
    pauseChecks,
    releaseChecks,
    startChecks,
    timerChecks,
    gateChecks,
    forkChecks,
    allowanceChecks,
    blobChecks,
    permissionChecks,
    endChecks,
    endingChecks,
    fairChecks,
    steerChecks,
  ]
  const known = all.flatMap((some) => Object.entries(some))
  return mutants.map((mutant) => {
    const [caughtBy] = known.find(([, check]) => check === mutant.check) ?? []
    if (caughtBy === undefined) throw new Error(`The check of mutant "${mutant.guard}" has no name.`)
    return { ...mutant, caughtBy }
  })
}
