import { describe, expect, it } from 'vitest'
import { tableLines } from '../../../src/cli/view/table.ts'
import { failureColumn, usageColumns, usageText } from '../../../src/cli/view/worker-columns.ts'
import type { WorkerReport } from '../../../src/client/report.ts'
import type { Failure } from '../../../src/core/worker/run/failure.ts'
import type { UsageReport } from '../../../src/core/worker/run/usage.ts'
import { plainPage } from './plain-page.ts'

describe('usageColumns', () => {
  const worker = (name: string, iterations: number, usage: Partial<UsageReport>) =>
    ({ name, iterations, usage }) as WorkerReport
  const used = { modelCalls: 3, inputTokens: 12_345, outputTokens: 80 }
  const lines = (workers: WorkerReport[]) =>
    tableLines(
      workers,
      [{ header: 'w', value: ({ name }) => name }, ...usageColumns(workers, (row) => row)],
      plainPage(80),
    )

  it('appear if any worker used a model', () => {
    expect(lines([worker('a', 2, used), worker('b', 0, {})])).toEqual([
      'W  ITERATIONS  TOKENS IN  OUT',
      'a           2      12.3k   80',
      'b',
    ])
  })

  it('usageColumns are left out if no worker used a model', () => {
    expect(lines([worker('b', 0, {})])).toEqual(['W', 'b'])
  })
})

describe('usageText', () => {
  it('usageText is one sentence for a worker or a session', () => {
    expect(
      usageText({ modelCalls: 3, inputTokens: 12_345, outputTokens: 80, cacheReadTokens: 4_000, reasoningTokens: 60 }),
    ).toBe('3 model calls; 12.3k tokens in (4k from the cache), 80 out (60 reasoning)')
    expect(usageText({ modelCalls: 1 })).toBe('1 model call; 0 tokens in, 0 out')
    expect(usageText({ modelCalls: 0, failedModelCalls: 2 })).toBe(
      '0 model calls and 2 that failed; 0 tokens in, 0 out',
    )
    expect(usageText({})).toBeNull()
  })
})

describe('failureColumn', () => {
  const failure = (message: string) => ({ code: 'run_failed', message }) as Failure
  const worker = (lastFailure: Failure | null) => ({ lastFailure }) as WorkerReport
  const cells = (alreadyShown: Failure | null, ...failures: (Failure | null)[]) =>
    tableLines(failures.map(worker), [failureColumn<WorkerReport>((row) => row, alreadyShown)], plainPage()).slice(1)

  it('cuts a long failure also without a terminal', () => {
    const [cell = ''] = cells(null, failure('no '.repeat(150)))
    expect(cell.length).toBeLessThanOrEqual(100)
    expect(cell).toMatch(/^run_failed: no no .*…$/)
  })

  it('refers to a failure that stands above the table instead of repeating it', () => {
    expect(cells(failure('no luck'), failure('no luck'), failure('other'))).toEqual(['as above', 'run_failed: other'])
  })
})
