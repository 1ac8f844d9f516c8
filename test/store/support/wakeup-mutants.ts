/** Mutants of the rule for wake-ups where turns are short, and of wake-ups that a script publishes to a node. */
import { postScript, sweepScript } from '../../../src/store/script/scripts.ts'
import type { Mutant } from './mutant.ts'
import * as checks from './wakeup-checks.ts'

export const wakeupMutants: readonly Mutant[] = [
  {
    guard: 'wakeup rule: three in a row, while few slots are awake',
    script: postScript,
    from: 'math.max(math.ceil(queued / workersPerWake), math.min(math.ceil(queued / 3), awakeLeast))',
    to: 'math.ceil(queued / workersPerWake)',
    check: checks.fewSlotsAreNotAloneWithALine,
  },
  {
    guard: 'wake-up rule: no more than so many of them',
    script: postScript,
    from: 'math.min(math.ceil(queued / 3), awakeLeast)',
    to: 'queued',
    check: checks.fewSlotsAreNotAloneWithALine,
  },
  {
    guard: 'no wake-up is published while slots are awake',
    script: postScript,
    from: 'if out == 0 then\n    local offered',
    to: 'if true then\n    local offered',
    check: checks.aNodeHearsAWakeupWhenNoSlotIsAwake,
  },
  {
    guard: 'a wake-up that a node heard says so',
    script: postScript,
    from: "local offered = count == 1 and 'p' or 'w'",
    to: "local offered = 'w'",
    check: checks.aNodeHearsAWakeupWhenNoSlotIsAwake,
  },
  {
    guard: 'a wake-up that no node heard does not say so',
    script: postScript,
    from: 'if heard ~= 0 then return',
    to: 'if heard then return',
    check: checks.aWakeupThatNobodyHeardSaysSo,
  },
  {
    guard: 'a sweep puts a wake-up for who is passed over by slots that are awake',
    script: sweepScript,
    from: 'math.max(fit - out, late)',
    to: 'fit - out',
    check: checks.whoIsPassedOverHasAWakeup,
  },
  {
    guard: 'and only for who has been in line for longer than a wake-up lasts',
    script: sweepScript,
    from: 'if isLate(candidates[number + 1]) then',
    to: 'if true then',
    check: checks.whoIsPassedOverHasAWakeup,
  },
  {
    guard: 'and for who stands ahead of the clock, of whom nobody knows how long it has been in line',
    script: sweepScript,
    from: 'return math.abs(now - tonumber(score)) >= wakeupMs',
    to: 'return now - tonumber(score) >= wakeupMs',
    check: checks.whoStandsAheadOfTheClockHasAWakeup,
  },
  {
    guard: 'also where the node is full',
    script: sweepScript,
    from: "'(' .. digits(now - wakeupMs), '(' .. digits(now + wakeupMs))",
    to: "'(' .. digits(now - wakeupMs), '+inf')",
    check: checks.whoStandsAheadOfTheClockHasAWakeup,
  },
  {
    guard: 'a sweep tells a full node of a line in which somebody is late',
    script: sweepScript,
    from: 'math.min(math.max(fit - out, late), pool.free) or late do',
    to: 'math.min(math.max(fit - out, late), pool.free) or 0 do',
    check: checks.aFullNodeLearnsWhereSomebodyIsLate,
  },
  {
    guard: 'a wake-up for a full node is not out',
    script: sweepScript,
    from: "if pool.free > 0 then redis.call('ZADD'",
    to: "if true then redis.call('ZADD'",
    check: checks.aFullNodeLearnsWhereSomebodyIsLate,
  },
]
