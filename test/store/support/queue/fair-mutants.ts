/** Mutants of what the fair order of run queues rests on. */
import {
  claimScript,
  commitScript,
  createSessionsScript,
  lookScript,
  postScript,
  sweepScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './fair-checks.ts'

export const fairMutants: readonly Mutant[] = [
  {
    guard: 'the virtual time of a pool goes on with the places that are taken',
    script: claimScript,
    takenOut: 'line',
    check: checks.whoHasWorkedForLongIsNotPassedByAllThatAreNew,
  },
  {
    guard: 'a lost virtual time is taken from the first worker in the queue',
    script: postScript,
    takenOut: 'line',
    check: checks.aLostTimeIsThatOfTheFirst,
  },
  {
    guard: 'a session remembers its last place',
    script: postScript,
    takenOut: 'line',
    check: checks.aSessionRemembersItsPlace,
  },
  {
    guard: 'a session whose last place was damaged goes on',
    script: postScript,
    takenOut: 'line',
    check: checks.aDamagedPlaceKeepsNobodyBack,
  },
  {
    guard: 'a session of a higher priority stands further in front',
    script: postScript,
    takenOut: { token: [' - lead', ''] },
    check: checks.aHigherPriorityIsFirst,
  },
  {
    guard: 'a session that has long turns stands behind others for longer',
    script: commitScript,
    takenOut: { condition: 'false' },
    check: checks.longTurnsStandFurtherApart,
  },
  {
    guard: 'a session whose turns become short stands behind others for less long',
    script: commitScript,
    takenOut: { condition: 'turn == 0' },
    check: checks.shortTurnsStandCloserAgain,
  },
  {
    guard: 'a worker that moves to another pool gets a place there',
    script: sweepScript,
    takenOut: { value: '0' },
    check: checks.whoMovesStandsBehindWhoIsThere,
  },
  {
    guard: 'a worker stays in the run queue where the queue of its kind was overwritten',
    script: claimScript,
    takenOut: { condition: 'true' },
    check: checks.anOverwrittenQueueOfAKindLosesNobody,
  },
  {
    guard: 'a queue of one kind that was overwritten stops no claim',
    script: claimScript,
    takenOut: 'line',
    check: checks.anOverwrittenQueueOfAKindStopsNoClaim,
  },
  {
    guard: 'a sweep looks at queues of kinds in pools without a node',
    script: sweepScript,
    takenOut: 'line',
    check: checks.aQueueOfAKindFollowsItsKind,
  },
  {
    guard: 'a worker of a kind that a node does not host goes to the queue of its kind',
    script: claimScript,
    takenOut: 'line',
    check: checks.whatANodeCannotRunGoesToTheQueueOfItsKind,
  },
  {
    guard: 'a claim looks at the queues of its kinds',
    script: claimScript,
    takenOut: { condition: 'false' },
    check: checks.whoHostsAKindRunsItsQueue,
  },
  {
    guard: 'a wake-up goes on to nodes that host the kinds of other queues',
    script: claimScript,
    takenOut: { token: ['hasOthers', 'false'] },
    check: checks.aWakeupGoesOnToWhoHostsTheKind,
  },
  {
    guard: 'a worker leaves the queue of its kind',
    script: sweepScript,
    takenOut: 'line',
    check: checks.aQueueOfAKindEndsWithItsLastNode,
  },
  {
    guard: 'a queue of one kind that is empty is forgotten',
    script: claimScript,
    takenOut: 'line',
    check: checks.anEmptyQueueOfAKindIsForgotten,
  },
  {
    guard: 'a worker in the queue of its kind is queued',
    script: lookScript,
    takenOut: 'line',
    check: checks.aWorkerInTheQueueOfItsKindIsNoFinding,
  },
  {
    guard: 'a worker leaves the queue of its kind when nobody hosts it',
    script: sweepScript,
    takenOut: 'line',
    check: checks.aQueueOfAKindEndsWithItsLastNode,
  },
  {
    guard: 'wake-up rule: queues of kinds',
    script: createSessionsScript,
    takenOut: { token: [" + redis.call('SCARD', tag .. ':kind-queues:' .. pool)", ''] },
    check: checks.aQueueOfAKindGetsAWakeup,
  },
]
