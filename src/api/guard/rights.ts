/**
 * Duty: the rights of callers: what each may do.
 * RIGHTS-1 Each route needs one right. `read` changes nothing. `admin` implies all others; `operate` and `decide` imply `read`.
 */
import type { Ceiling } from './ceiling.ts'

export const rights = ['read', 'operate', 'decide', 'admin'] as const
/**
 * read: look at everything. operate: create sessions, send, and change what runs. decide: answer asks and approvals. admin: all of these, and
 * what concerns the whole namespace.
 */
export type Right = (typeof rights)[number]

const implied: Readonly<Record<Right, readonly Right[]>> = {
  read: ['read'],
  operate: ['read', 'operate'],
  decide: ['read', 'decide'],
  admin: rights,
}

export function mayDo(held: readonly Right[], right: Right): boolean {
  return held.some((one) => implied[one].includes(right))
}

/** Who calls. */
export interface Caller {
  /** The name of its access token, or `local` where none is needed. Events name it as who did something. */
  readonly name: string
  readonly rights: readonly Right[]
  /** What the caller may ask for at most. Absent: as much as anybody. */
  readonly ceiling?: Ceiling | undefined
}
