/**
 * Duty: the tools of one worker kind, by name, and what a model is shown of them.
 * Made when the kind is loaded, so that a tool which cannot be shown stops the node and not a run.
 */
import type { Tool } from '../../core/definition/define-tool.ts'
import type { ToolSpec } from '../../core/definition/model.ts'
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

  /** In the order they were given. */
  list(): readonly Tool[] {
    return [...this.#tools.values()]
  }

  /** The same list each time: adapters may keep what they make of it. */
  specs(): readonly ToolSpec[] {
    return this.#specs
  }
}
