/**
 * Duty: the figures that must hold, P1a to P9: what each compares, its target, and how it is computed from the
 * measurements. The table of bench/README.md shows the same targets (test/docs.test.ts).
 * FIGURE-1 A ratio is taken within each round, and the figure is the median over the rounds: both halves of a ratio were
 * measured in the same minute.
 */
import { median } from './measure/statistics.ts'
import type { Window } from './measure/steady-window.ts'
import type { GrowthOfTurns } from './trials/growth.ts'
import type { IdleLatency, Latency } from './trials/idle-latency.ts'
import type { MemoryAbovePayload } from './trials/memory.ts'
import type { Windows } from './trials/throughput.ts'

/** All measurements of a bench run; one that was not asked for, or failed, is null or absent. */
export interface Measurements {
  readonly windows: Windows
  /** The same while every core has another busy process; a contestant that no figure asked for is absent. */
  readonly loaded: Windows
  readonly growth: GrowthOfTurns | null
  readonly memory: MemoryAbovePayload | null
  readonly idle: IdleLatency | null
  readonly cancel: Latency | null
}

export type Trial = 'growth' | 'memory' | 'idle' | 'cancel'

/** What must be measured for a figure: contestants by id, on an idle or on a loaded machine, or a trial of its own. */
export type Needs =
  | { readonly contestants: readonly string[] }
  | { readonly loaded: readonly string[] }
  | { readonly trial: Trial }

export interface Figure {
  readonly id: string
  readonly what: string
  readonly unit: '×' | 'commands' | 'scripts' | 'B' | 'ms'
  readonly better: 'higher' | 'lower'
  readonly target: number
  readonly needs: Needs
  /** Null: the value was not measured. */
  readonly value: (measured: Measurements) => number | null
}

/** Id, what it is, unit, target. */
type Row = readonly [string, string, Figure['unit'], number]

export interface FigureResult {
  readonly figure: Figure
  readonly value: number | null
  readonly ok: boolean
}

export const figures: readonly Figure[] = [
  ratio(['P1a', 'agent runs/s over the bound', '×', 0.8], 'agent', 'agent-bound'),
  ratio(['P1b', 'trees/s over the bound', '×', 0.65], 'tree', 'tree-bound'),
  ratio(['P2', 'agent runs/s over the hand-written BullMQ agent', '×', 2.3], 'agent', 'agent-handwritten'),
  ratio(
    ['P2b', 'agent runs/s over the same agent with the duties of troupe', '×', 1.3],
    'agent',
    'agent-handwritten-kept',
  ),
  ratio(['P3a', 'trees/s over FlowProducer without history', '×', 1.2], 'tree', 'tree-flow'),
  ratio(['P3b', 'trees/s over the hand-written BullMQ tree', '×', 2], 'tree', 'tree-handwritten'),
  ratio(['P3c', 'trees/s over the same tree with the duties of troupe', '×', 1.4], 'tree', 'tree-handwritten-kept'),
  perRun(['P4a', 'Redis commands per agent run', 'commands', 40], (window) => window.commandsPerUnit),
  perRun(['P4b', 'scripts per agent run', 'scripts', 4.5], (window) => window.scriptsPerUnit),
  perRun(['P4c', 'AOF bytes per agent run', 'B', 3_300], (window) => window.aofBytesPerUnit),
  trial(
    ['P5a', 'time of a turn at a history of 10 000 messages over that at 10', '×', 1.2],
    'growth',
    (measured) => measured.growth?.timeRatio,
  ),
  trial(['P5b', 'AOF bytes of a turn, likewise', '×', 1.1], 'growth', (measured) => measured.growth?.bytesRatio),
  trial(
    ['P6a', 'Redis bytes of an idle worker above its 10 messages', 'B', 1_000],
    'memory',
    (measured) => measured.memory?.idleWorker,
  ),
  trial(
    ['P6b', 'Redis bytes of a finished session of one worker above its payload', 'B', 2_000],
    'memory',
    (measured) => measured.memory?.finishedSession,
  ),
  trial(
    ['P7', "submit → result on an idle system over BullMQ's own add → result", '×', 1.5],
    'idle',
    (measured) => measured.idle?.ratio,
  ),
  loadedRatio(['P8a', 'loaded: agent runs/s over the hand-written BullMQ agent', '×', 1], 'agent', 'agent-handwritten'),
  loadedRatio(['P8b', 'loaded: trees/s over FlowProducer without history', '×', 1], 'tree', 'tree-flow'),
  loadedRatio(['P8c', 'loaded: trees/s over the hand-written BullMQ tree', '×', 1], 'tree', 'tree-handwritten'),
  trial(
    ['P9', 'acknowledged cancel → last abort of 20 running workers, p99', 'ms', 100],
    'cancel',
    (measured) => measured.cancel?.p99Ms,
  ),
]

export function judge(figure: Figure, measured: Measurements): FigureResult {
  const value = figure.value(measured)
  return { figure, value, ok: value !== null && isReached(figure, value) }
}

/** NaN reaches no target. */
function isReached({ better, target }: Figure, value: number): boolean {
  return better === 'higher' ? value >= target : value <= target
}

/** Higher is better: how many times as fast one contestant is as another. */
function ratio(row: Row, faster: string, slower: string): Figure {
  const ids = [faster, slower]
  return figure(row, 'higher', { contestants: ids }, ({ windows }) => ratioOfRounds(windows, faster, slower))
}

/** The same ratio, on a machine whose cores are busy with something else. */
function loadedRatio(row: Row, faster: string, slower: string): Figure {
  return figure(row, 'higher', { loaded: [faster, slower] }, ({ loaded }) => ratioOfRounds(loaded, faster, slower))
}

function ratioOfRounds(windows: Windows, faster: string, slower: string): number | null {
  const upper = windows.get(faster) ?? []
  const lower = windows.get(slower) ?? []
  if (upper.length === 0 || upper.length !== lower.length) return null
  return median(upper.map(({ perSecond }, round) => perSecond / (lower[round]?.perSecond ?? Number.NaN)))
}

/** Lower is better: the cost of one agent run of troupe. */
function perRun(row: Row, read: (window: Window) => number): Figure {
  return figure(row, 'lower', { contestants: ['agent'] }, ({ windows }) => {
    const measured = windows.get('agent') ?? []
    return measured.length === 0 ? null : median(measured.map(read))
  })
}

/** Lower is better: the number of a trial of its own. */
function trial(row: Row, name: Trial, read: (measured: Measurements) => number | null | undefined): Figure {
  return figure(row, 'lower', { trial: name }, (measured) => read(measured) ?? null)
}

function figure(
  [id, what, unit, target]: Row,
  better: Figure['better'],
  needs: Figure['needs'],
  value: Figure['value'],
): Figure {
  return { id, what, unit, better, target, needs, value }
}
