/** Mutants of the rule for wake-ups where turns are short, and of wake-ups that a script publishes to a node. */
import { postScript, sweepScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './wakeup-checks.ts'

export const wakeupMutants: readonly Mutant[] = [
  {
    guard: 'wake-up rule: three in a row, while few slots are awake',
    script: postScript,
    takenOut: { value: '0' },
    check: checks.fewSlotsAreNotAloneWithALine,
  },
  {
    guard: 'wake-up rule: no more than so many of them',
    script: postScript,
    takenOut: { value: 'queued' },
    check: checks.fewSlotsAreNotAloneWithALine,
  },
  {
    guard: 'no wake-up is published while slots are awake',
    script: postScript,
    takenOut: { condition: 'true' },
    check: checks.aNodeGetsAWakeupWhenNoSlotIsAwake,
  },
  {
    guard: 'a published wake-up that a node received has an id with p',
    script: postScript,
    takenOut: { value: "'w'" },
    check: checks.aNodeGetsAWakeupWhenNoSlotIsAwake,
  },
  {
    guard: 'a published wake-up that no node received has no id with p',
    script: postScript,
    takenOut: { condition: 'true' },
    check: checks.aWakeupWithoutAListenerIsReported,
  },
  {
    guard: 'a sweep sends a wake-up for workers that awake slots pass over',
    script: sweepScript,
    takenOut: { value: '0' },
    check: checks.aWorkerThatIsPassedOverGetsAWakeup,
  },
  {
    guard: 'a sweep adds a wake-up only for a worker that was queued for longer than a wake-up lasts',
    script: sweepScript,
    takenOut: { condition: 'true' },
    check: checks.aWorkerThatIsPassedOverGetsAWakeup,
  },
  {
    guard: 'a worker ahead of the clock counts as late',
    script: sweepScript,
    takenOut: 'line',
    check: checks.aWorkerAheadOfTheClockGetsAWakeup,
  },
  {
    guard: 'the first worker of a queue tells a full node that it is late',
    script: sweepScript,
    takenOut: { value: 'false' },
    check: checks.aFullNodeLearnsWhereSomebodyIsLate,
  },
  {
    guard: 'a sweep tells a full node of a queue in which a worker is late',
    script: sweepScript,
    takenOut: { value: '0' },
    check: checks.aFullNodeLearnsWhereSomebodyIsLate,
  },
  {
    guard: 'a wake-up for a full node does not count as out',
    script: sweepScript,
    takenOut: { condition: 'true' },
    check: checks.aFullNodeLearnsWhereSomebodyIsLate,
  },
]
