/**
 * Duty: decide what a caller may ask for at most, as the ceiling of its access token says.
 * CEILING-1 A caller that asks for more is refused. A caller that asks for nothing gets no more than the ceiling, even if the default is higher.
 * CEILING-2 A request that would give more in another way is refused: a copy has the limits and permissions of its original.
 * CEILING-3 Each route that changes sessions says what a ceiling means for it (ROUTE-3), so that no route forgets it.
 * Does not own: what sessions may spend within an hour (allowance.ts); what exists already. A message to somebody else's session spends what that
 * session may spend.
 */
import { z } from 'zod'
import { defaultSessionLimits } from '../../core/policy.ts'
import type { DeepReadonly } from '../../core/read-only.ts'
import type { Notify } from '../../core/worker/notify.ts'
import { commonPermissions, isWithinFolder, type Permissions } from '../../core/worker/permissions.ts'
import { ApiError } from '../problem.ts'

const limit = z.int().min(0).optional()
const names = z.array(z.string().min(1).max(200)).min(1).max(200).optional()

export const ceilingSchema = z.strictObject({
  /** The kinds of which it may create sessions. */
  kinds: names,
  /** The models that it may set for an agent. */
  models: names,
  /** The queues of BullMQ to which results of its sessions go: `results`; with another prefix than BullMQ's own, `<prefix>:results`. */
  queues: z.array(z.string().min(1).max(201)).max(200).optional(),
  /** The limits of each session that it creates, or whose limits it changes. */
  limits: z
    .strictObject({
      modelCalls: limit,
      tokens: limit,
      toolCalls: limit,
      workers: limit,
      children: limit,
      depth: limit,
      mailbox: limit,
    })
    .optional(),
  /** What all sessions that it creates within an hour may spend together, with what it raises their limits by. */
  perHour: z.strictObject({ sessions: limit, modelCalls: limit, tokens: limit, toolCalls: limit }).optional(),
  /** The permissions of each session that it creates. */
  permissions: z
    .strictObject({
      tools: z.array(z.string()).optional(),
      kinds: z.array(z.string()).optional(),
      folder: z.string().optional(),
      send: z.enum(['none', 'family', 'session']).optional(),
    })
    .optional(),
})
export type Ceiling = DeepReadonly<z.infer<typeof ceilingSchema>>

/** The part of a caller that matters for a ceiling. */
interface Ceiled {
  readonly name: string
  readonly ceiling?: Ceiling | undefined
}

type Limits = Partial<Record<string, number | undefined>>

interface Creation {
  readonly kind: string
  readonly limits?: Limits | undefined
  readonly permissions?: Permissions | undefined
  readonly notify?: Notify | undefined
}

/** The session that is created for this caller: what it asks for, and no more than its ceiling. */
export function underCeiling<Asked extends Creation>(caller: Ceiled, asked: Asked): Asked {
  const { ceiling } = caller
  if (ceiling === undefined) return asked
  checkName(caller, 'kind', asked.kind, ceiling.kinds)
  checkQueue(caller, asked.notify)
  checkLimits(caller, asked.limits)
  const { permissions } = ceiling
  const limits = limitsOf(ceiling)
  return {
    ...asked,
    ...(Object.keys(limits).length > 0 && { limits: { ...lowered(limits), ...asked.limits } }),
    ...(permissions !== undefined && { permissions: narrowed(caller, permissions, asked.permissions) }),
  }
}

/** Throws if one of these is above the ceiling. */
export function checkLimits(caller: Ceiled, limits: Limits = {}): void {
  for (const [name, most] of Object.entries(limitsOf(caller.ceiling)))
    if (most !== undefined && (limits[name] ?? 0) > most)
      throw exceeded(caller, `limits.${name} of at most ${most}, not ${limits[name]}`)
}

export function checkModel(caller: Ceiled, model: string | null | undefined): void {
  if (model != null) checkName(caller, 'model', model, caller.ceiling?.models)
}

/** Another program works on the jobs of a queue. An address is asked only for what anybody may send to it. */
function checkQueue(caller: Ceiled, notify: Notify | undefined): void {
  if (notify === undefined || !('queue' in notify)) return
  const { queue, prefix = 'bull' } = notify
  checkName(caller, 'queue', prefix === 'bull' ? queue : `${prefix}:${queue}`, caller.ceiling?.queues)
}

/** Refuses a copy (CEILING-2). */
export function refuseCopy({ caller }: { readonly caller: Ceiled }): never {
  throw exceeded(caller, 'no copies, which have the limits and permissions of what they copy')
}

function checkName(caller: Ceiled, what: string, name: string, allowed: readonly string[] | undefined): void {
  if (allowed === undefined || allowed.includes(name)) return
  if (allowed.length === 0) throw exceeded(caller, `no ${what}, so not ${name}`)
  throw exceeded(caller, `only the ${what}${allowed.length === 1 ? '' : 's'} ${allowed.join(', ')}, not ${name}`)
}

/** The ceiling for one session: no session may spend more than all sessions of an hour. */
function limitsOf({ limits = {}, perHour = {} }: Ceiling = {}): Limits {
  const { sessions: _, ...spending } = perHour
  const least = Object.entries(spending).map(([name, most]) => [
    name,
    Math.min(most ?? Infinity, (limits as Limits)[name] ?? Infinity),
  ])
  return { ...limits, ...Object.fromEntries(least.filter(([, most]) => most !== Infinity)) }
}

/** The default limits that are above the ceiling, lowered to it. */
function lowered(limits: Limits): Record<string, number> {
  const defaults: Readonly<Record<string, number>> = { ...defaultSessionLimits }
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, most]) =>
      most === undefined ? [] : [[name, Math.min(most, defaults[name] ?? most)]],
    ),
  )
}

function narrowed(caller: Ceiled, ceiling: Permissions, asked: Permissions | undefined): Permissions {
  const { folder } = asked ?? {}
  if (folder !== undefined && ceiling.folder !== undefined && !isWithinFolder(folder, ceiling.folder))
    throw exceeded(caller, `the folder ${ceiling.folder}, not ${folder}`)
  return commonPermissions(ceiling, asked ?? null)
}

function exceeded({ name }: Ceiled, allows: string): ApiError {
  return new ApiError(403, 'ceiling_exceeded', `the ceiling of token "${name}" allows ${allows}.`)
}
