/**
 * Duty: what a tool sees of its call. Input, facts and children are the call's own: a tool may change them, and nobody else sees it.
 * CC1 They are copied when they are asked for, since most tools ask for none. CC2 The accessors are the same for all calls: with some
 *     of its own, what is made for each call would outlive it (decision 0013). CC3 They are its own properties: `{ ...context }` has them.
 * CC4 They are found as well through what wraps it, a Proxy or an object made after it: no private field is.
 */
import type { ToolContext } from '../../core/definition/define-tool.ts'

type Shared = Pick<ToolContext, 'input' | 'facts' | 'children'>

/** Of one call: what others hold as well, and the copies that were asked for. */
interface Values {
  readonly shared: Shared
  readonly own: { -readonly [name in keyof Shared]?: unknown }
}

const values = Symbol('values')

class CallContext {
  static readonly #accessors: PropertyDescriptorMap = {
    input: { enumerable: true, get: CallContext.#reader('input') },
    facts: { enumerable: true, get: CallContext.#reader('facts') },
    children: { enumerable: true, get: CallContext.#reader('children') },
  }
  declare readonly [values]: Values

  constructor({ input, facts, children, ...rest }: ToolContext) {
    Object.assign(this, rest)
    Object.defineProperty(this, values, { value: { shared: { input, facts, children }, own: {} } })
    Object.defineProperties(this, CallContext.#accessors)
    Object.freeze(this)
  }

  static #reader(name: keyof Shared): () => unknown {
    return function (this: CallContext) {
      const { shared, own } = this[values]
      own[name] ??= ownCopy(name, shared[name])
      return own[name]
    }
  }
}

export function callContext(parts: ToolContext): ToolContext {
  return new CallContext(parts) as unknown as ToolContext
}

function ownCopy(name: keyof Shared, value: unknown): unknown {
  const copy: unknown = structuredClone(value)
  if (name === 'facts') return namesAlone(copy)
  if (name === 'children') {
    for (const child of copy as { facts: unknown }[]) child.facts = namesAlone(child.facts)
  }
  return copy
}

/** Names of facts come from tools and models: what is not there must not be found on a prototype. */
function namesAlone(facts: unknown): object {
  return Object.assign(Object.create(null) as object, facts)
}
