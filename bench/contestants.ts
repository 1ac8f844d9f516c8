/** Duty: the lists of contestants, in the order of the report. */
import type { Contestant } from './contestant.ts'
import { flowTree } from './peers/flow-tree.ts'
import { handwrittenAgent, handwrittenAgentFewSlots, handwrittenAgentKept } from './peers/handwritten-agent.ts'
import { handwrittenTree, handwrittenTreeKept } from './peers/handwritten-tree.ts'
import { idleJob } from './peers/idle-job.ts'
import { rawJob } from './peers/raw-job.ts'
import { boundAgent, boundTree, idleRun, troupeAgent, troupeTree } from './peers/troupe-runs.ts'

export const contestants: readonly Contestant[] = [
  rawJob,
  troupeAgent,
  boundAgent,
  handwrittenAgent,
  handwrittenAgentKept,
  handwrittenAgentFewSlots,
  troupeTree,
  boundTree,
  flowTree,
  handwrittenTree,
  handwrittenTreeKept,
]

/** Those of the idle system, one unit at a time. */
export const idleContestants: readonly Contestant[] = [idleJob, idleRun]
