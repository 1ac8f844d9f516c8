/** Runs tools in this process, each call by itself. */
import { expect } from 'vitest'
import { defineTool, type Tool, type ToolDefinition } from '../../../../src/core/definition/tool/define-tool.ts'
import { ToolExecutor, type ToolThreads } from '../../../../src/runtime/tool/executor.ts'
import { callParts, type SeenCall } from './call-parts.ts'

const noThreads: ToolThreads = {
  attempt: () => {
    throw new Error('no thread is to be asked for')
  },
}
export const executor = new ToolExecutor(noThreads)

export function toolOf(run: ToolDefinition['run'], more: Partial<ToolDefinition> = {}): Tool {
  return defineTool({ name: 'a', description: 'For tests.', effect: 'pure', run, ...more })
}

export function runOf(tool: Tool, seen: SeenCall = callParts(), input: unknown = {}) {
  return executor.run({ tool, input, parts: seen.parts })
}

export const failure = (message: string) => ({
  kind: 'failed',
  output: { type: 'error-text', value: `Error: ${message}` },
  facts: {},
  thrown: expect.anything() as unknown,
})
