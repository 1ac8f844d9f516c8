import { describe, expect, it } from 'vitest'
import { toolRows } from '../../../src/cli/commands/tools.ts'
import { defineWorker, type WorkerDefinition } from '../../../src/core/definition/define-worker.ts'
import { defineTool, type Tool } from '../../../src/core/definition/tool/define-tool.ts'

describe('toolRows', () => {
  it('lists each tool once, with the kinds that use it', async () => {
    const tool = (name: string, description: string) =>
      defineTool({ name, description, effect: 'pure', run: () => null })
    const [read, list] = [tool('read', 'Reads.'), tool('list', 'Lists.')]
    const agent = (...tools: Tool[]) => defineWorker({ instructions: 'Work.', tools })
    const kinds = new Map<string, WorkerDefinition>([
      ['writer', agent(read)],
      ['reader', agent(read, list)],
      ['other', agent(tool('read', 'Another.'))],
      ['echo', defineWorker({ receive() {} })],
    ])
    expect(await toolRows(kinds)).toEqual([
      { name: 'list', effect: 'pure', kinds: ['reader'], description: 'Lists.' },
      { name: 'read', effect: 'pure', kinds: ['reader', 'writer'], description: 'Reads.' },
      { name: 'read', effect: 'pure', kinds: ['other'], description: 'Another.' },
    ])
  })
})
