/** Duty: who paused a session, or all of a namespace, why and when; and its form in Redis, which scripts only look for. */
import { fromJson } from '../../core/json.ts'

export interface PauseNote {
  readonly why?: string | undefined
  readonly by?: string | undefined
  readonly at: number
}

/** A text that cannot be read was written by another program: it pauses all the same, and says nothing. */
export function decodePauseNote(json: string): PauseNote {
  const note = fromJson(json)
  const { why, by, at } = (typeof note === 'object' && note !== null ? note : {}) as Record<string, unknown>
  return {
    ...(typeof why === 'string' ? { why } : {}),
    ...(typeof by === 'string' ? { by } : {}),
    at: typeof at === 'number' ? at : 0,
  }
}
