/**
 * Duty: what a tool sees of its call. Input, facts and children are the call's own: a tool may change them, and nobody else sees it.
 * CC1 They are copied when they are asked for, since most tools ask for none. CC2 The accessors are the same for all calls: with some
 *     of its own, what is made for each call would outlive it (decision 0013). CC3 They are its own properties: `{ ...context }` has them.
 */
import type { ToolContext } from '../../core/define-tool.ts'

type Shared = Pick<ToolContext, 'input' | 'facts' | 'children'>

class CallContext {
  static readonly #accessors: PropertyDescriptorMap = {
    input: { enumerable: true, get: CallContext.#reader('input') },
    facts: { enumerable: true, get: CallContext.#reader('facts') },
    children: { enumerable: true, get: CallContext.#reader('children') },
  }
  readonly #shared: Shared
  readonly #own: { -readonly [name in keyof Shared]?: unknown } = {}

  constructor({ input, facts, children, ...rest }: ToolContext) {
    this.#shared = { input, facts, children }
    Object.assign(this, rest)
    Object.defineProperties(this, CallContext.#accessors)
    Object.freeze(this)
  }

  static #reader(name: keyof Shared): () => unknown {
    return function (this: CallContext) {
      this.#own[name] ??= ownCopy(name, this.#shared[name])
      return this.#own[name]
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
