import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { toolRows } from '../../../src/cli/commands/tools.ts'
import { runCommandLine } from '../../../src/cli/program.ts'
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

it('commands that need no Redis start none, also where the environment names that of the folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-tools-'))
  vi.stubEnv('TROUPE_REDIS_URL', 'folder')
  // With this path no Redis can be found.
  vi.stubEnv('PATH', folder)
  try {
    expect(await runCommandLine(['tools', '--json', '--workers', folder])).toBe(0)
    expect(await runCommandLine(['kinds', '--out', join(folder, 'kinds.d.ts'), '--workers', folder])).toBe(0)
  } finally {
    vi.unstubAllEnvs()
    await rm(folder, { recursive: true })
  }
})
