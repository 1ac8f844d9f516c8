/**
 * Duty: build what a tool sees of its call. Input, facts and children are the call's own copies: a tool may change them, and nobody else
 * sees the change.
 * CALL-CONTEXT-1 The copies are made when the tool first reads them, because most tools read none.
 * CALL-CONTEXT-2 All calls share the same accessors. Accessors made for each call would outlive it (bench/history.md).
 * CALL-CONTEXT-3 They are own properties: `{ ...context }` has them.
 * CALL-CONTEXT-4 They work through a Proxy or an object created from the context. That is why the values are under a symbol and not in a
 *                private field.
 */
import type { ToolContext } from '../../core/definition/tool/define-tool.ts'

type Shared = Pick<ToolContext, 'input' | 'facts' | 'children'>

/** The values of one call that other code also holds, and the copies that the tool has read so far. */
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
  if (name === 'facts') return withoutPrototype(copy)
  if (name === 'children') {
    for (const child of copy as { facts: unknown }[]) child.facts = withoutPrototype(child.facts)
  }
  return copy
}

/** Facts without a prototype: tools and models choose their names, and a missing name must not be found on Object.prototype. */
function withoutPrototype(facts: unknown): object {
  return Object.assign(Object.create(null) as object, facts)
}
