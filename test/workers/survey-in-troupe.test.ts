/** The survey as shipped: agents, the offline model, tools in threads, a real node. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { AgentResult } from '../../src/core/history/agent-result.ts'
import reader from '../../workers/reader.ts'
import surveyor from '../../workers/surveyor.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { findTotals, nastyFolder, temporaryFolder, write } from './support/folders.ts'
import { byHandlers, type Survey } from './support/surveys.ts'

describe.skipIf(process.platform !== 'linux')('a survey by agents on a node', () => {
  test('a survey by agents on a node gives the same report as the survey by handlers, to the last line', {
    timeout: 400_000,
  }, async ({ onTestFinished }) => {
    const folder = await nastyFolder(onTestFinished)
    // Enough for readers that share their parts out once more.
    for (let index = 0; index < 3_000; index++) write(folder, { [`tree/p${index % 3}/q${index % 7}/${index}`]: 'x\n' })
    const limits = { workers: 200, children: 4, depth: 3, mailbox: 1_000 }
    await using troupe = await TestTroupe.start({ workers: { surveyor, reader } })
    const result = await troupe.run('surveyor', { folder }, { limits })
    if (result.status !== 'completed') throw new Error(`the survey ended so: ${JSON.stringify(result)}`)
    const { text, facts } = result.value as AgentResult
    const report = facts?.report as unknown as Survey
    const { outcome } = await byHandlers({ folder }, { limits })
    expect(report).toEqual(outcome.value)
    expect(report.totals).toMatchObject({ ...findTotals(folder), unreadable: 0 })
    expect(report.totals.workers).toBeGreaterThan(1 + limits.children)
    expect(text).toContain('no language model')
    expect(text).not.toContain('failed')
  })

  test('a survey by agents on a node has readers also if the path holds a newline', { timeout: 400_000 }, async () => {
    const folder = join(temporaryFolder(), 'a\nb')
    for (let index = 0; index < 3_000; index++) write(folder, { [`p${index % 3}/${index}`]: 'x\n' })
    await using troupe = await TestTroupe.start({ workers: { surveyor, reader } })
    const result = await troupe.run('surveyor', { folder })
    if (result.status !== 'completed') throw new Error(`the survey ended so: ${JSON.stringify(result)}`)
    const { text, facts } = result.value as AgentResult
    const report = facts?.report as unknown as Survey
    expect(report.totals).toMatchObject({ files: 3_000, lines: 3_000, unreadable: 0 })
    expect(report.totals.workers).toBeGreaterThan(1)
    expect(text).not.toContain('failed')
  })

  test('a survey by agents on a node fails when there is nothing to survey', async () => {
    const folder = write(temporaryFolder(), { file: '' })
    await using troupe = await TestTroupe.start({ workers: { surveyor, reader } })
    for (const input of [{ folder: 'src' }, { folder: 7 }, {}, 'a folder']) {
      const result = await troupe.run('surveyor', input)
      expect(result).toMatchObject({ status: 'failed', failure: { code: 'input_invalid' } })
    }
    // Nobody gave it a part.
    expect(await troupe.run('reader', { folder })).toMatchObject({ status: 'failed', failure: { code: 'run_failed' } })
  })
})
