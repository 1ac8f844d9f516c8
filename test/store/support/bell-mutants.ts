/** Mutants of the rule for wake-ups where turns are short, and of wake-ups that a script publishes to a node. */
import { postScript, sweepScript } from '../../../src/store/script/scripts.ts'
import * as checks from './bell-checks.ts'
import type { Mutant } from './mutant.ts'

export const bellMutants: readonly Mutant[] = [
  {
    guard: 'bell rule: three in a row, while few slots are awake',
    script: postScript,
    from: 'math.max(math.ceil(queued / share), math.min(math.ceil(queued / 3), awakeLeast))',
    to: 'math.ceil(queued / share)',
    check: checks.fewSlotsAreNotAloneWithALine,
  },
  {
    guard: 'bell rule: no more than so many of them',
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
    guard: 'a sweep puts a bell for who is passed over by slots that are awake',
    script: sweepScript,
    from: 'math.max(fit - out, late)',
    to: 'fit - out',
    check: checks.whoIsPassedOverHasABell,
  },
  {
    guard: 'and only for who has been in line for longer than a bell lasts',
    script: sweepScript,
    from: 'if isLate(candidates[number + 1]) then',
    to: 'if true then',
    check: checks.whoIsPassedOverHasABell,
  },
  {
    guard: 'and for who stands ahead of the clock, of whom nobody knows how long it has been in line',
    script: sweepScript,
    from: 'return math.abs(now - tonumber(score)) >= bellMs',
    to: 'return now - tonumber(score) >= bellMs',
    check: checks.whoStandsAheadOfTheClockHasABell,
  },
  {
    guard: 'also where the node is full',
    script: sweepScript,
    from: "'(' .. digits(now - bellMs), '(' .. digits(now + bellMs))",
    to: "'(' .. digits(now - bellMs), '+inf')",
    check: checks.whoStandsAheadOfTheClockHasABell,
  },
  {
    guard: 'a sweep tells a full node of a line in which somebody is late',
    script: sweepScript,
    from: 'math.min(math.max(fit - out, late), pool.free) or late do',
    to: 'math.min(math.max(fit - out, late), pool.free) or 0 do',
    check: checks.aFullNodeLearnsWhereSomebodyIsLate,
  },
  {
    guard: 'a bell for a full node is not out',
    script: sweepScript,
    from: "if pool.free > 0 then redis.call('ZADD'",
    to: "if true then redis.call('ZADD'",
    check: checks.aFullNodeLearnsWhereSomebodyIsLate,
  },
]
