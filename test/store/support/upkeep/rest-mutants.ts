/** Guards of what a node without work asks. */
import {
  announceScript,
  claimScript,
  forgetKindsScript,
  restScript,
  sweepScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import {
  aClaimNamesManyKindsByTheirList,
  aDamagedVersionBeginsAnew,
  aKindIsRememberedForLong,
  aKindStaysWhileWorkOfItWaits,
  aKindThatIsHostedAgainIsRememberedAnew,
  aNodeRestsAmongThousandsOfPools,
  aNodeRestsOnlyWithoutWork,
  aPoolStaysAmongVeryManyKinds,
  aPoolStaysWhileItHasKindsOrWork,
  aRegisteredKindIsNoticed,
  aSweepSaysBrieflyThatItsNodeLives,
  eventsAreBoundedByBytes,
  kindsThatStayHoldUpNoOthers,
  nodesLearnThatAKindWasForgotten,
  oneNodeLooksAtFormerKinds,
} from './rest-checks.ts'

const rest = { script: restScript, check: aNodeRestsOnlyWithoutWork } as const

export const restMutants: readonly Mutant[] = [
  { guard: 'a node that rests and is not registered sweeps', takenOut: { condition: 'meta.err' }, ...rest },
  {
    guard: 'a node that rests sweeps when the clock was set back, or a timer is due',
    takenOut: { condition: 'false' },
    ...rest,
  },
  {
    guard: 'a node that rests sweeps while there are leases, cancels or queued workers',
    takenOut: { value: '{ leasesKey }' },
    ...rest,
  },
  { guard: 'a node that rests sweeps while workers are queued in any pool', takenOut: 'line', ...rest },
  { guard: 'a node that rests says that it lives', takenOut: 'line', ...rest },
  {
    guard: 'a node that rests looks at no more pools than a script may',
    script: restScript,
    takenOut: { token: [', 500', ', 0'] },
    check: aNodeRestsOnlyWithoutWork,
  },
  {
    guard: 'a node that rests sweeps while workers are queued in its pools',
    script: restScript,
    takenOut: 'line',
    check: aNodeRestsAmongThousandsOfPools,
  },
  {
    guard: 'a sweep says that its node lives',
    script: sweepScript,
    takenOut: 'line',
    check: aSweepSaysBrieflyThatItsNodeLives,
  },
  {
    guard: 'Redis keeps the list of kinds that a claim sends whole',
    script: claimScript,
    takenOut: { value: 'true' },
    check: aClaimNamesManyKindsByTheirList,
  },
  {
    guard: 'a claim may name its kinds by the digest of their list',
    script: claimScript,
    takenOut: 'line',
    check: aClaimNamesManyKindsByTheirList,
  },
  {
    guard: 'one node looks at the kinds that nobody hosts',
    script: forgetKindsScript,
    takenOut: 'line',
    check: oneNodeLooksAtFormerKinds,
  },
  {
    guard: 'a kind is remembered for long after its last node',
    script: forgetKindsScript,
    takenOut: { token: ['now - forgottenMs', 'now'] },
    check: aKindIsRememberedForLong,
  },
  {
    guard: 'a kind that is hosted again is remembered anew',
    script: forgetKindsScript,
    takenOut: 'line',
    check: aKindThatIsHostedAgainIsRememberedAnew,
  },
  {
    guard: 'kinds that stay hold up no others',
    script: forgetKindsScript,
    takenOut: 'line',
    check: kindsThatStayHoldUpNoOthers,
  },
  {
    guard: 'a kind stays while work of it waits',
    script: forgetKindsScript,
    takenOut: { value: 'true' },
    check: aKindStaysWhileWorkOfItWaits,
  },
  {
    guard: 'a pool is forgotten only where all kinds can be looked at',
    script: forgetKindsScript,
    takenOut: { condition: 'false' },
    check: aPoolStaysAmongVeryManyKinds,
  },
  {
    guard: 'a pool stays while it has kinds or work',
    script: forgetKindsScript,
    takenOut: { value: 'true' },
    check: aPoolStaysWhileItHasKindsOrWork,
  },
  {
    guard: 'nodes learn that a kind was forgotten',
    script: forgetKindsScript,
    takenOut: 'line',
    check: nodesLearnThatAKindWasForgotten,
  },
  {
    guard: 'events are bounded by bytes',
    script: sweepScript,
    takenOut: 'line',
    check: eventsAreBoundedByBytes,
  },
  {
    guard: 'nodes learn that a kind was registered',
    script: announceScript,
    takenOut: { value: 'false' },
    check: aRegisteredKindIsNoticed,
  },
  {
    guard: 'a version of the register that is no number begins anew',
    script: announceScript,
    takenOut: 'line',
    check: aDamagedVersionBeginsAnew,
  },
]
