/** Duty: what advances a turn: the code of a handler kind, or the loop of an agent kind. */
import type { Turn } from './turn.ts'

/** Runs a turn to its end; all it wants recorded goes through the turn. Handlers are one behaviour, agents another. */
export type Behaviour = (turn: Turn) => Promise<void>
