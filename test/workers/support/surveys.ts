/** Duty: the survey in its two versions, in memory: by the agents of workers/, and by handlers, which the agents must equal. */
import reader from '../../../workers/reader.ts'
import surveyor from '../../../workers/surveyor.ts'
import { AgentSession, type AgentSessionOptions } from './agent-session.ts'
import handlerReader from './handler-survey/reader.ts'
import handlerSurveyor from './handler-survey/surveyor.ts'
import { MemorySession, type Outcome, type Ran } from './session.ts'

export interface Survey {
  readonly markdown: string
  readonly totals: { files: number; bytes: number; lines: number; unreadable: number; workers: number }
  readonly isComplete: boolean
}

export interface Surveyed {
  /** Its value is the survey. */
  readonly outcome: Outcome
  readonly ran: readonly Ran[]
  readonly errors: readonly string[]
  readonly biggestMessage: number
}

export type Version = (input: unknown, options?: AgentSessionOptions) => Promise<Surveyed>

export const byAgents: Version = async (input, options = {}) => {
  const disturb = (worker: Ran) => asFact(options.disturb?.(worker) ?? null)
  const session = new AgentSession({ surveyor, reader }, { ...options, disturb })
  const outcome = await session.run('surveyor', input)
  const facts = (outcome.value as { facts?: { report?: unknown } } | null)?.facts
  const { ran, errors, biggestMessage } = session
  return { outcome: { ...outcome, value: facts?.report ?? null }, ran, errors, biggestMessage }
}

export const byHandlers: Version = async (input, options) => {
  const session = new MemorySession({ surveyor: handlerSurveyor, reader: handlerReader }, options)
  const outcome = await session.run('surveyor', input)
  return { outcome, ran: session.ran, errors: [], biggestMessage: session.biggestMessage }
}

/** What a disturbed reader replies with is what its tools would have established. */
function asFact(outcome: Outcome | null): Outcome | null {
  return outcome?.status === 'completed' ? { ...outcome, value: { facts: { summary: outcome.value } } } : outcome
}
