/**
 * Duty: hold the tools of one worker kind by name, and their specs for the model.
 * REGISTRY-1 It is made when the kind is loaded, so that a tool without a valid spec stops the node and not a run.
 */

import type { ToolSpec } from '../../core/definition/model.ts'
import type { Tool } from '../../core/definition/tool/define-tool.ts'
import { ConfigError } from '../../core/errors.ts'
import { inputFormOf } from './input-form.ts'

export class ToolRegistry {
  readonly #tools = new Map<string, Tool>()
  readonly #specs: readonly ToolSpec[]

  /** Throws a ConfigError that names the tool. */
  constructor(tools: readonly Tool[]) {
    for (const tool of tools) {
      if (this.#tools.has(tool.name)) throw new ConfigError(`two tools have the name "${tool.name}": rename one.`)
      this.#tools.set(tool.name, tool)
    }
    this.#specs = tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      inputSchema: inputFormOf(tool).inputSchema,
    }))
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name)
  }

  /** In the order of the definition. */
  list(): readonly Tool[] {
    return [...this.#tools.values()]
  }

  /** Returns the same array each time, because adapters keep what they build from it. */
  specs(): readonly ToolSpec[] {
    return this.#specs
  }
}
