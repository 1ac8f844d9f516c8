/**
 * Duty: the kinds of a node, as its claims name them: the claims of a node with a thousand kinds are as short as others.
 * KIND-LISTS-1 A list that is short goes with each claim. A longer one has a name that follows from it, and Redis keeps it for a day after it was
 *    last sent whole. It is sent whole every few seconds, so that a Redis that lost it has it again.
 */
import { createHash } from 'node:crypto'

/** A longer list gets a name. */
const lengthMost = 512
const wholeEveryMs = 10_000

export interface NodeKinds {
  /** The kinds of the node, by pool. */
  readonly kinds: ReadonlyMap<string, readonly string[]>
  /** Those kinds of the node that spawn nothing. */
  readonly childless?: ReadonlySet<string>
  /** Those kinds of the node that have `onCancel`. */
  readonly withOnCancel?: ReadonlySet<string>
}

interface KindList {
  readonly text: string
  /** Null for a short list. */
  readonly name: string | null
  wholeAt: number
}

export class KindLists {
  readonly #lists = new Map<string, KindList>()

  constructor(node: NodeKinds) {
    for (const [pool, kinds] of node.kinds) {
      const text = kindList(kinds, node)
      const name = text.length > lengthMost ? `@${createHash('sha1').update(text).digest('hex')}` : null
      this.#lists.set(pool, { text, name, wholeAt: Number.NEGATIVE_INFINITY })
    }
  }

  /** The kinds of this node for a claim in this pool that is sent now. */
  of(pool: string): string {
    const list = this.#lists.get(pool)
    if (list === undefined) return ' '
    if (list.name === null) return list.text
    const now = performance.now()
    if (now - list.wholeAt < wholeEveryMs) return list.name
    list.wholeAt = now
    return list.name + list.text
  }
}

/**
 * In the form that claims read: each name between spaces; kinds that spawn nothing come last, behind a single !; a kind with `onCancel` comes once more,
 * with an asterisk after its name.
 */
function kindList(
  kinds: readonly string[],
  { childless = new Set(), withOnCancel = new Set() }: Omit<NodeKinds, 'kinds'>,
): string {
  const [none, some] = [kinds.filter((kind) => childless.has(kind)), kinds.filter((kind) => !childless.has(kind))]
  const starred = kinds.flatMap((kind) => (withOnCancel.has(kind) ? [`${kind}*`] : []))
  return ` ${[...some, ...starred, ...(none.length > 0 ? ['!', ...none] : [])].join(' ')} `
}
