/**
 * Duty: the figures to reach, P1a to P7: what each compares, its target and its stretch, and how it comes out of the
 * measurements. The table here is the one of docs/performance.md.
 * F1 A ratio is taken within each round and then the median over the rounds: two halves of a ratio share their minute.
 */
import { median } from './measure/statistics.ts'
import type { Window } from './measure/steady-window.ts'
import type { GrowthOfTurns } from './trials/growth.ts'
import type { IdleLatency } from './trials/idle-latency.ts'
import type { MemoryAbovePayload } from './trials/memory.ts'
import type { Windows } from './trials/throughput.ts'

/** What was measured; null or absent where it was not asked for or failed. */
export interface Measurements {
  readonly windows: Windows
  readonly growth: GrowthOfTurns | null
  readonly memory: MemoryAbovePayload | null
  readonly idle: IdleLatency | null
}

export type Trial = 'growth' | 'memory' | 'idle'

export interface Figure {
  readonly id: string
  readonly what: string
  readonly unit: '×' | 'commands' | 'scripts' | 'B'
  readonly better: 'higher' | 'lower'
  readonly target: number
  readonly stretch: number
  /** What must be measured for it: contestants by id, or a trial of its own. */
  readonly needs: { readonly contestants: readonly string[] } | { readonly trial: Trial }
  /** Null: not measured. */
  readonly value: (measured: Measurements) => number | null
}

/** Id, what it is, unit, target, stretch. */
type Row = readonly [string, string, Figure['unit'], number, number]

export interface FigureResult {
  readonly figure: Figure
  readonly value: number | null
  readonly ok: boolean
  readonly stretched: boolean
}

export const figures: readonly Figure[] = [
  ratio(['P1a', 'agent runs/s over the bound', '×', 0.8, 0.95], 'agent', 'agent-bound'),
  ratio(['P1b', 'trees/s over the bound', '×', 0.65, 0.85], 'tree', 'tree-bound'),
  ratio(['P2', 'agent runs/s over the hand-written BullMQ agent', '×', 2.5, 4], 'agent', 'agent-handwritten'),
  ratio(['P3a', 'trees/s over FlowProducer without history', '×', 1.6, 2.5], 'tree', 'tree-flow'),
  ratio(['P3b', 'trees/s over the hand-written BullMQ tree', '×', 3, 5], 'tree', 'tree-handwritten'),
  perRun(['P4a', 'Redis commands per agent run', 'commands', 40, 30], (window) => window.commandsPerUnit),
  perRun(['P4b', 'scripts per agent run', 'scripts', 4.5, 4], (window) => window.scriptsPerUnit),
  perRun(['P4c', 'AOF bytes per agent run', 'B', 3_000, 2_200], (window) => window.aofBytesPerUnit),
  trial(
    ['P5a', 'time of a turn at a history of 10 000 messages over that at 10', '×', 1.2, 1.05],
    'growth',
    (measured) => measured.growth?.timeRatio,
  ),
  trial(['P5b', 'AOF bytes of a turn, likewise', '×', 1.1, 1], 'growth', (measured) => measured.growth?.bytesRatio),
  trial(
    ['P6a', 'Redis bytes of an idle worker above its 10 messages', 'B', 1_000, 700],
    'memory',
    (measured) => measured.memory?.idleWorker,
  ),
  trial(
    ['P6b', 'Redis bytes of a finished session of one worker above its payload', 'B', 2_000, 1_200],
    'memory',
    (measured) => measured.memory?.finishedSession,
  ),
  trial(
    ['P7', "submit → result on an idle system over BullMQ's own add → result", '×', 1.5, 1.1],
    'idle',
    (measured) => measured.idle?.ratio,
  ),
]

export function judge(figure: Figure, measured: Measurements): FigureResult {
  const value = figure.value(measured)
  return { figure, value, ok: reaches(value, figure.target), stretched: reaches(value, figure.stretch) }

  function reaches(reached: number | null, goal: number): boolean {
    if (reached === null || Number.isNaN(reached)) return false
    return figure.better === 'higher' ? reached >= goal : reached <= goal
  }
}

/** Higher is better: how many times as fast one contestant is as another. */
function ratio(row: Row, of: string, over: string): Figure {
  return figure(row, 'higher', { contestants: [of, over] }, ({ windows }) => {
    const upper = windows.get(of) ?? []
    const lower = windows.get(over) ?? []
    if (upper.length === 0 || upper.length !== lower.length) return null
    return median(upper.map(({ perSecond }, round) => perSecond / (lower[round]?.perSecond ?? Number.NaN)))
  })
}

/** Lower is better: what one agent run of troupe costs. */
function perRun(row: Row, read: (window: Window) => number): Figure {
  return figure(row, 'lower', { contestants: ['agent'] }, ({ windows }) => {
    const measured = windows.get('agent') ?? []
    return measured.length === 0 ? null : median(measured.map(read))
  })
}

/** Lower is better: a number that a trial of its own has found. */
function trial(row: Row, name: Trial, read: (measured: Measurements) => number | null | undefined): Figure {
  return figure(row, 'lower', { trial: name }, (measured) => read(measured) ?? null)
}

function figure(
  [id, what, unit, target, stretch]: Row,
  better: Figure['better'],
  needs: Figure['needs'],
  value: Figure['value'],
): Figure {
  return { id, what, unit, better, target, stretch, needs, value }
}
