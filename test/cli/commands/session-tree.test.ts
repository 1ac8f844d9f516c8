import { describe, expect, it } from 'vitest'
import { sessionTreeLines } from '../../../src/cli/commands/session/tree.ts'
import type { Report, WorkerReport } from '../../../src/client/report.ts'
import { textWidth } from '../../../src/words/text/text-width.ts'
import { plainPage } from '../view/plain-page.ts'

describe('sessionTreeLines', () => {
  const idOf = (depth: number) => `01900000-0000-8000-8000-00000000000${depth}`
  const worker = (depth: number) =>
    ({
      id: idOf(depth),
      parentId: depth === 0 ? null : idOf(depth - 1),
      name: `reader ${depth}`,
      kind: 'agent',
      activity: 'waiting',
      iterations: 3,
      usage: { modelCalls: 3, inputTokens: 12_345, outputTokens: 80 },
      lastFailure: null,
      waitsFor: 'a person',
      holdup: { waitsFor: 'a person to answer a long question', since: 0, due: null, needsSomebody: true },
    }) as unknown as WorkerReport
  const report = { session: { holdups: [] }, workers: [0, 1, 2, 3, 4, 5].map(worker) } as unknown as Report

  it('is a tree also where its columns have no room', () => {
    const [wide, narrow] = [80, 60].map((columns) => sessionTreeLines(report, plainPage(columns)))
    expect(wide?.[6]).toMatch(/^│? +└─ reader 5.* {2}waiting +01900000-0000-8000-8000-000000000005$/)
    expect(wide?.at(-1)).toBe('There is no room for: waits for, iterations, tokens in, out, failure.')
    expect(narrow?.[6]).toMatch(/^ +└─ reader 5 \(agent\) +waiting/)
    expect(narrow?.at(-1)).toMatch(/, id\.$/)
    for (const line of narrow?.slice(0, 7) ?? []) expect(textWidth(line)).toBeLessThanOrEqual(60)
  })
})
