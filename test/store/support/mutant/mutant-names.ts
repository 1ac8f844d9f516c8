/** Mutants with the name of the check that catches each. */

import * as allowanceChecks from '../limit/allowance-checks.ts'
import * as costChecks from '../limit/cost-checks.ts'
import * as permissionChecks from '../limit/permission-checks.ts'
import * as spendingChecks from '../limit/spending-checks.ts'
import * as letterChecks from '../mail/letter-checks.ts'
import * as sendChecks from '../mail/send-checks.ts'
import * as steerChecks from '../mail/steer-checks.ts'
import * as amendChecks from '../person/amend-checks.ts'
import * as approvalChecks from '../person/approval-checks.ts'
import * as askChecks from '../person/ask-checks.ts'
import * as pauseChecks from '../person/pause-checks.ts'
import * as fairChecks from '../queue/fair-checks.ts'
import * as gateChecks from '../queue/gate-checks.ts'
import * as guestChecks from '../queue/guest-checks.ts'
import * as runQueueChecks from '../queue/run-queue-checks.ts'
import * as startChecks from '../queue/start-checks.ts'
import * as wakeupChecks from '../queue/wakeup-checks.ts'
import * as blobChecks from '../session/blob-checks.ts'
import * as createChecks from '../session/create-checks.ts'
import * as endChecks from '../session/end-checks.ts'
import * as forkChecks from '../session/fork-checks.ts'
import * as retryChecks from '../session/retry-checks.ts'
import * as agentChecks from '../turn/agent-checks.ts'
import * as batchChecks from '../turn/batch-checks.ts'
import * as cancelChecks from '../turn/cancel-checks.ts'
import * as checks from '../turn/checks.ts'
import * as endingChecks from '../turn/ending-checks.ts'
import * as releaseChecks from '../turn/release-checks.ts'
import * as siblingChecks from '../turn/sibling-checks.ts'
import * as boundChecks from '../upkeep/bound-checks.ts'
import * as notifyChecks from '../upkeep/notify-checks.ts'
import * as outboxChecks from '../upkeep/outbox-checks.ts'
import * as packChecks from '../upkeep/pack-checks.ts'
import * as restChecks from '../upkeep/rest-checks.ts'
import * as timerChecks from '../upkeep/timer-checks.ts'
import * as largeChecks from './large-checks.ts'
import type { Mutant } from './mutant.ts'

export function withNames(mutants: readonly Mutant[]): (Mutant & { readonly caughtBy: string })[] {
  const all = [
    checks,
    agentChecks,
    amendChecks,
    approvalChecks,
    askChecks,
    siblingChecks,
    cancelChecks,
    largeChecks,
    letterChecks,
    runQueueChecks,
    wakeupChecks,
    costChecks,
    boundChecks,
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
    guestChecks,
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
