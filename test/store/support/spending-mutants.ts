/** Mutants of what a session has spent. */
import { claimScript, commitScript, limitScript } from '../../../src/store/script/scripts.ts'
import type { Mutant } from './mutant.ts'
import * as checks from './spending-checks.ts'

export const spendingMutants: readonly Mutant[] = [
  {
    guard: 'what an agent spent alone counts for all when it has children',
    script: commitScript,
    from: 'record.calls or #others.born > 0)',
    to: 'record.calls)',
    check: checks.spentBefore,
  },
  {
    guard: 'so does what a root spent that became an agent when it had children',
    script: commitScript,
    from: 'record.parent or record.calls or #others',
    to: 'record.parent or #others',
    check: checks.spentByWhoBecameAnAgent,
  },
  {
    guard: 'nor is it alone then',
    script: commitScript,
    from: 'record.parent or record.calls or #commit.spawns',
    to: 'record.parent or #commit.spawns',
    check: checks.spentByWhoBecameAnAgent,
  },
  {
    guard: 'only what is new is added',
    script: commitScript,
    from: 'math.max(0, calls - (callsBefore or 0))',
    to: 'math.max(0, calls)',
    check: checks.spentByAll,
  },
  {
    guard: 'what others spent stays',
    script: commitScript,
    from: "string.match(spent or '0 0', '^(%d+) (%d+)$')",
    to: "string.match('0 0', '^(%d+) (%d+)$')",
    check: checks.spentByAll,
  },
  {
    guard: 'a commit that is sent again tells what the session has spent',
    script: commitScript,
    from: 'before, fine and spent, fine and caps, assigned }',
    to: 'before, false, caps, assigned }',
    check: checks.spentOnce,
  },
  {
    guard: 'an permissions tells what the session has spent',
    script: claimScript,
    from: "suspect and purpose == 'run', claim.mailBytes, spent",
    to: "suspect and purpose == 'run', claim.mailBytes, false",
    check: checks.spentBefore,
  },
  {
    guard: 'a limit that is not set anew stays',
    script: limitScript,
    from: 'caps or start',
    to: 'start',
    check: checks.limitsAreRaisedOneByOne,
  },
  {
    guard: 'a finished session takes no limit',
    script: limitScript,
    from: 'left <= 0 or ',
    to: '',
    check: checks.aFinishedSessionIsNotRaised,
  },
  {
    guard: 'nor does one that was cancelled',
    script: limitScript,
    from: " or string.find(state, '^cancel')",
    to: '',
    check: checks.aCancelledSessionIsNotRaised,
  },
  {
    guard: 'one that left detached workers does',
    script: limitScript,
    from: "left <= 0 or string.find(state, '^cancel')",
    to: 'true',
    check: checks.aSessionThatLeftDetachedAgentsIsRaised,
  },
]
