/** Mutants with the name of the check that catches each. */
import * as agentChecks from './agent-checks.ts'
import * as bellChecks from './bell-checks.ts'
import * as checks from './checks.ts'
import * as letterChecks from './letter-checks.ts'
import * as lineChecks from './line-checks.ts'
import type { Mutant } from './mutant.ts'

export function withNames(mutants: readonly Mutant[]): (Mutant & { readonly caughtBy: string })[] {
  const known = Object.entries({ ...checks, ...agentChecks, ...letterChecks, ...lineChecks, ...bellChecks })
  return mutants.map((mutant) => {
    const [caughtBy] = known.find(([, check]) => check === mutant.check) ?? []
    if (caughtBy === undefined) throw new Error(`The check of mutant "${mutant.guard}" has no name.`)
    return { ...mutant, caughtBy }
  })
}
