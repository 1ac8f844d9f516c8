/** Mutants of what is told of sessions that have ended. */
import { closeScript, commitScript, fireScript, pruneScript } from '../../../src/store/script/scripts.ts'
import type { Mutant } from './mutant.ts'
import * as checks from './notify-checks.ts'

const rows = [
  ['the result of a session that ends goes where its creator said', commitScript, checks.anEndIsToBeTold],
  ['the result of a session that ends goes where its creator said', closeScript, checks.aClosedSessionIsToBeTold],
  ['a result is told once', fireScript, checks.aResultIsToldOnce],
  ['a session that is pruned is told of no more', pruneScript, checks.aPrunedSessionIsToldOfNoMore],
] as const

export const notifyMutants: readonly Mutant[] = rows.map(([guard, script, check]) => ({
  guard,
  script,
  takenOut: 'line',
  check,
}))
