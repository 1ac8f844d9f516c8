import { describe, expect, it } from 'vitest'
import { tableLines } from '../../../src/cli/view/table.ts'
import {
  contextText,
  failureColumn,
  lastUsageText,
  usageColumns,
  usageText,
  waitsColumn,
} from '../../../src/cli/view/worker-columns.ts'
import type { WorkerReport } from '../../../src/client/report.ts'
import type { TokenReport } from '../../../src/client/session/conversation/tokens.ts'
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
    expect(usageText({ modelCalls: 1, toolCalls: 2, cacheReadTokens: 3, cacheWriteTokens: 4 })).toBe(
      '1 model call, 2 tool calls; 0 tokens in (3 from the cache, 4 into the cache), 0 out',
    )
    expect(usageText({})).toBeNull()
  })
})

describe('the tokens of a conversation', () => {
  const context = (model: string | null, window: number | null, share: number | null) =>
    contextText({ context: { tokens: 12_345, model, window, share } } as TokenReport)

  it('the tokens of a conversation are named with the window of its model, where that is known', () => {
    expect(context('openai/m', 200_000, 0.0617)).toBe('12.3k tokens, 6.2 % of the 200k of openai/m')
    expect(context('openai/m', 200_000, 0.5)).toBe('12.3k tokens, 50 % of the 200k of openai/m')
    expect(context('openai/m', null, null)).toBe('12.3k tokens, of openai/m')
    expect(context(null, null, null)).toBeNull()
  })

  it('the tokens of its last reply are named, once there is one', () => {
    const last = {
      inputTokens: 1_200,
      outputTokens: 34,
      cacheReadTokens: 0,
      cacheWriteTokens: 100,
      reasoningTokens: 10,
    }
    expect(lastUsageText({ last } as TokenReport)).toBe('1.2k tokens in (100 into the cache), 34 out (10 reasoning)')
    expect(lastUsageText({ last: null } as TokenReport)).toBeNull()
  })
})

describe('waitsColumn', () => {
  const worker = (id: string, waitsFor: string | null) => ({ id, waitsFor, holdup: null }) as WorkerReport

  it('waitsColumn is there if a worker waits whose wait stands nowhere else', () => {
    const count = (rows: WorkerReport[], but?: string) => waitsColumn(rows, (row) => row, 0, but).length
    expect(count([worker('a', null), worker('b', 'a timer')])).toBe(1)
    expect(count([worker('a', null), worker('b', 'a timer')], 'b')).toBe(0)
    expect(count([worker('a', null)])).toBe(0)
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
