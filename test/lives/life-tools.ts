/** Duty: the tools of an agent in a random life: of each effect, with and without approvals, a recipe of others, and one that ends the run. */
import { z } from 'zod'
import { defineTool, type Tool, type ToolContext } from '../../src/core/definition/tool/define-tool.ts'

export type ToolRun = Pick<ToolContext, 'toolCallId' | 'idempotencyKey' | 'signal'>
type Run = (input: unknown, context: ToolRun) => Promise<unknown>

/** `run`: what a tool of this effect does. `needsApproval`: whether the recipe needs one. */
export function lifeTools(run: (effect: Tool['effect']) => Run, needsApproval: boolean): Tool[] {
  const input = z.object({ n: z.number() })
  const steps = ['look', 'post', 'pay'].map((tool, n) => ({ tool, arguments: { n } }))
  return [
    defineTool({ name: 'look', description: 'Looks.', effect: 'pure', input, run: run('pure') }),
    defineTool({ name: 'put', description: 'Puts.', effect: 'idempotent', input, run: run('idempotent') }),
    defineTool({ name: 'pay', description: 'Pays.', effect: 'once', input, run: run('once') }),
    defineTool({ name: 'post', description: 'Posts.', effect: 'once', approval: 'never', input, run: run('once') }),
    defineTool({
      name: 'mix',
      description: 'Mixes.',
      approval: needsApproval ? 'always' : 'never',
      input,
      recipe: () => ({ serial: steps.slice(1, 2), parallel: steps }),
    }),
    defineTool({ name: 'finish', description: 'Ends.', terminal: true, input }),
  ]
}
