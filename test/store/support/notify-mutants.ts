/** Mutants of what is told of sessions that have ended. */
import { closeScript, commitScript, fireScript, pruneScript } from '../../../src/store/script/scripts.ts'
import type { Mutant } from './mutant.ts'
import * as checks from './notify-checks.ts'

const later: Mutant = {
  guard: 'a session that was retried while it was told of is told of again',
  script: fireScript,
  takenOut: { value: 'false' },
  check: checks.aLaterEndIsTold,
}

const rows = [
  ['the result of a session that ends goes where its creator said', commitScript, checks.anEndIsToBeTold],
  ['the result of a session that ends goes where its creator said', closeScript, checks.aClosedSessionIsToBeTold],
  ['a result is told once', fireScript, checks.aResultIsToldOnce],
  ['a session that is pruned is told of no more', pruneScript, checks.aPrunedSessionIsToldOfNoMore],
] as const

export const notifyMutants: readonly Mutant[] = [
  ...rows.map(([guard, script, check]) => ({ guard, script, takenOut: 'line', check }) as const),
  later,
]
