/** Duty: read and write the lines of the two registers of a partition: its nodes (sweep.lua writes these), and all kinds that nodes ever hosted. */
import { isObject } from '../../core/check/is-object.ts'
import { fromJson } from '../../core/json.ts'
import type { HostedKind } from '../../core/ports/upkeep.ts'

export interface NodeRow {
  readonly id: string
  readonly lastSeen: number
  readonly slots: number
  readonly pools: readonly string[]
  readonly kinds: readonly string[]
  readonly facts: Readonly<Record<string, unknown>>
}

export interface KindRow {
  readonly kind: string
  readonly pool: string
  readonly description: string
  /** The window of its model in tokens, if its author says it. */
  readonly window?: number
  /** JSON Schema of its inputs, if it has one that is not too long. */
  readonly input?: Readonly<Record<string, unknown>>
}

/**
 * Lines `<written at> <slots> <pool,pool> <kind,kind> <facts>` by node, and when nodes were last seen, where that is known. Nodes with the same kinds have
 * the same list of them: hundreds of nodes may have a thousand each.
 */
export function decodeNodeLines(
  lines: Readonly<Record<string, string>>,
  seenAt: Readonly<Record<string, string>>,
): NodeRow[] {
  const lists = new Map<string, readonly string[]>()
  return Object.entries(lines).map(([id, line]) => {
    const [writtenAt, slots, pools = '', kinds = '', ...facts] = line.split(' ')
    const list = lists.get(kinds) ?? kinds.split(',').filter(Boolean)
    lists.set(kinds, list)
    return {
      id,
      lastSeen: Number(seenAt[id] ?? writtenAt),
      slots: Number(slots),
      pools: pools.split(',').filter(Boolean),
      kinds: list,
      facts: factsOf(facts.join(' ')),
    }
  })
}

/** How many turns a node still has that drains; undefined if it does not drain. */
export function drainingIn({ facts: { draining } }: NodeRow): number | undefined {
  return typeof draining === 'number' ? draining : undefined
}

/** The text behind the pool in the line of a kind, `<pool> <facts>`. */
export function encodeKindFacts({
  description,
  window,
  input,
}: Pick<HostedKind, 'description' | 'window' | 'input'>): string {
  return JSON.stringify({ description, ...(window !== undefined && { window }), ...(input !== undefined && { input }) })
}

export function decodeKindLine(kind: string, line: string): KindRow {
  const { description, window, input } = factsOf(line.slice(line.indexOf(' ') + 1))
  return {
    kind,
    pool: poolOfKindLine(line),
    description: typeof description === 'string' ? description : '',
    ...(typeof window === 'number' && { window }),
    ...(isObject(input) && { input }),
  }
}

export function poolOfKindLine(line: string): string {
  return line.split(' ', 1)[0] as string
}

/** Empty if another program wrote over the line. */
function factsOf(json: string): Readonly<Record<string, unknown>> {
  return Object(fromJson(json)) as Readonly<Record<string, unknown>>
}
