/** Mistakes that a model may make with the tools of a survey. None of them changes a figure. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AgentSessionOptions } from './support/agent-session.ts'
import { findTotals, temporaryFolder, write } from './support/folders.ts'
import { byAgents, byHandlers, type Survey } from './support/surveys.ts'

type Steps = NonNullable<AgentSessionOptions['steps']>
type Tasks = NonNullable<AgentSessionOptions['tasks']>

const without =
  (name: string): Steps =>
  (steps) =>
    steps.filter((step) => step !== name)
const ofReaders =
  (steps: Steps): Steps =>
  (given, worker) =>
    worker.kind === 'reader' ? steps(given, worker) : given
const eachTwice: Steps = (steps) => steps.flatMap((step) => [step, step])

const habits: [string, AgentSessionOptions][] = [
  ['plans nothing', { steps: without('split_folder') }],
  ['only writes the report', { steps: (steps) => steps.slice(-1) }],
  ['spawns nobody', { steps: without('spawn_workers') }],
  [
    'writes the report too early as well',
    {
      steps: (steps, { kind }) =>
        kind === 'surveyor' ? ['write_report', 'split_folder', 'write_report', ...steps] : steps,
    },
  ],
  ['does everything twice', { steps: eachTwice }],
  ['does not measure', { steps: ofReaders(without('measure_part')) }],
  ['does not split', { steps: ofReaders(without('split_part')) }],
  ['measures too early as well', { steps: ofReaders((steps) => ['measure_part', ...steps.slice(0, 1), ...steps]) }],
  ['measures twice', { steps: ofReaders((steps) => [...steps, 'measure_part']) }],
  ['forgets tasks', { tasks: (tasks) => tasks.filter((_, index) => index % 2 === 0) }],
  ['gives a part to two readers', { tasks: (tasks) => [...tasks.slice(0, 1), ...tasks.slice(0, -1)] }],
  [
    'gives two parts to a reader',
    {
      tasks: ([one, two, ...rest]: Parameters<Tasks>[0]) =>
        one && two ? [{ ...one, facts: [...(one.facts ?? []), ...(two.facts ?? [])] }, ...rest] : [],
    },
  ],
  ['gives no part', { tasks: (tasks) => tasks.map((task) => ({ ...task, facts: [] })) }],
  ['gives what is no fact', { tasks: (tasks) => tasks.map((task) => ({ ...task, facts: ['part-9-9'] })) }],
  [
    'gives its other facts along',
    {
      tasks: (tasks, { depth }) =>
        tasks.map((task) => ({ ...task, facts: [...(task.facts ?? []), `plan-${depth}`, 'summary', 'report'] })),
    },
  ],
  ['spawns in another order', { tasks: (tasks) => tasks.toReversed() }],
]

/** Workers that took part differ. */
function withoutWorkers({ markdown, totals, isComplete }: Survey) {
  const { files, bytes, lines, unreadable } = totals
  return {
    markdown: markdown.replaceAll(/^.*\bworkers?\b.*$/gim, ''),
    totals: { files, bytes, lines, unreadable },
    isComplete,
  }
}

describe('a model that', () => {
  // Few children, so that readers split their parts once more.
  const limits = { workers: 200, children: 4, depth: 3 }
  const cleaning: (() => void)[] = []
  let folder = ''
  let depth = 0
  let expected: ReturnType<typeof withoutWorkers>
  beforeAll(async () => {
    folder = write(
      temporaryFolder((work) => cleaning.push(work)),
      { 'README.md': '# TODO\n', 'package.json': '{"dependencies":{"a":"1"}}' },
    )
    for (let index = 0; index < 3_000; index++) {
      write(folder, { [`p${index % 3}/q${index % 7}/f${index}.ts`]: `// ${index % 50}\n`.repeat(index % 5) })
    }
    const { outcome, ran } = await byHandlers({ folder }, { limits })
    depth = Math.max(...ran.map((worker) => worker.depth))
    expected = withoutWorkers(outcome.value as Survey)
  })

  afterAll(() => {
    for (const work of cleaning) work()
  })

  test('a model that makes no mistake gets the totals of find and wc', async () => {
    expect(depth).toBe(2)
    const { outcome } = await byAgents({ folder }, { limits })
    expect(withoutWorkers(outcome.value as Survey)).toEqual(expected)
    expect(expected.totals).toEqual({ ...findTotals(folder), unreadable: 0 })
    expect(expected.isComplete).toBe(true)
  })

  test.each(habits)('a model that %s gets the same survey', async (_, options) => {
    const { outcome } = await byAgents({ folder }, { limits, ...options })
    expect(outcome.status).toBe('completed')
    expect(withoutWorkers(outcome.value as Survey)).toEqual(expected)
  })

  test('a model that spawns no readers counts as the only worker', async () => {
    const { outcome } = await byAgents({ folder }, { limits, steps: without('spawn_workers') })
    expect((outcome.value as Survey).totals.workers).toBe(1)
  })

  test('a model that loses a part may have another reader read it again', async () => {
    const lost = 'p2'
    let losses = 0
    const disturb: AgentSessionOptions['disturb'] = ({ name, depth }) =>
      depth === 1 && name === lost && losses++ === 0 ? { status: 'failed', value: null, failure: 'out of luck' } : null
    const steps: Steps = (given, { kind }) => (kind === 'surveyor' ? [...given.slice(0, 2), ...given] : given)
    const { outcome, ran } = await byAgents({ folder }, { limits, steps, disturb })
    expect(withoutWorkers(outcome.value as Survey)).toEqual(expected)
    const readers = ran.filter(({ depth }) => depth === 1).map(({ name }) => name)
    // Only what was lost is given out once more.
    expect(readers.filter((name) => name === lost)).toHaveLength(2)
    expect(readers.at(-1)).toBe(lost)
    expect(readers.length).toBeLessThanOrEqual(limits.children + 1)
  })

  test('a model never has to write a figure: tasks name facts, and nothing else differs between readers', async () => {
    const { ran } = await byAgents({ folder }, { limits })
    expect(new Set(ran.slice(1).map(({ input }) => input))).toEqual(new Set(['Survey your part.']))
  })
})
