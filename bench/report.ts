/** Duty: what the bench prints on stdout: tables for people, or one line of JSON per figure. */
import type { Contestant } from './contestant.ts'
import type { Figure, FigureResult, Measurements } from './figures.ts'
import { median } from './measure/statistics.ts'
import type { Window } from './measure/steady-window.ts'
import { idleJob } from './peers/idle-job.ts'
import { idleRun } from './peers/troupe-runs.ts'
import { workersBelow } from './trials/cancel.ts'
import { longHistory, shortHistory } from './trials/growth.ts'
import type { Latency } from './trials/idle-latency.ts'
import type { UnitMemory } from './trials/memory.ts'
import type { Windows } from './trials/throughput.ts'

export function jsonLines(results: readonly FigureResult[]): string {
  const lines = results.map(({ figure, value, ok }) =>
    JSON.stringify({ id: figure.id, value: value === null ? null : rounded(value), target: figure.target, ok }),
  )
  return lines.map((line) => `${line}\n`).join('')
}

export function tables(
  contestants: readonly Contestant[],
  measured: Measurements,
  results: readonly FigureResult[],
): string {
  const parts = [
    contestantTable('', contestants, measured.windows),
    contestantTable('every core busy', contestants, measured.loaded),
    ...otherMeasurements(measured),
    figureTable(results),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function contestantTable(title: string, contestants: readonly Contestant[], windows: Windows): string {
  const rows = contestants.flatMap((contestant) => {
    const measured = windows.get(contestant.id)
    return measured === undefined ? [] : [contestantRow(contestant, measured)]
  })
  if (rows.length === 0) return ''
  return table(
    [title, ...'per second|p50 ms|p99 ms|CPU s/1000 node|redis|commands|scripts|AOF B|in flight|slots'.split('|')],
    rows,
  )
}

/** Each column has its own median over the rounds. */
function contestantRow({ name, unit, inFlight, slots }: Contestant, windows: readonly Window[]): string[] {
  const of = (read: (window: Window) => number) => median(windows.map(read))
  return [
    name,
    `${of((window) => window.perSecond).toFixed(0)} ${unit}s`,
    of((window) => window.p50Ms).toFixed(1),
    of((window) => window.p99Ms).toFixed(1),
    of((window) => window.nodeCpuSecondsPer1000).toFixed(2),
    of((window) => window.redisCpuSecondsPer1000).toFixed(2),
    of((window) => window.commandsPerUnit).toFixed(1),
    of((window) => window.scriptsPerUnit).toFixed(1),
    of((window) => window.aofBytesPerUnit).toFixed(0),
    String(inFlight),
    String(slots),
  ]
}

function otherMeasurements({ growth, memory, idle, cancel }: Measurements): string[] {
  const parts: string[] = []
  if (growth !== null) {
    const rows = [
      [`history of ${shortHistory}`, growth.shortMs.toFixed(2), growth.shortBytes.toFixed(0)],
      [`history of ${longHistory}`, growth.longMs.toFixed(2), growth.longBytes.toFixed(0)],
    ]
    parts.push(table(['one further turn', 'ms', 'AOF B'], rows))
  }
  if (memory !== null) {
    const owners = ['history', 'worker', 'session', 'shared', 'passing'] as const
    const row = (name: string, { byOwner, payload }: UnitMemory) => [
      name,
      payload.toFixed(0),
      ...owners.map((owner) => byOwner[owner].toFixed(0)),
    ]
    const rows = [row('idle worker', memory.idle), row('finished session', memory.finished)]
    parts.push(table(['Redis bytes of one', 'payload', ...owners], rows))
  }
  if (idle !== null) {
    const row = (name: string, latency: Latency) => [name, latency.p50Ms.toFixed(2), latency.p99Ms.toFixed(2)]
    const rows = [row(idleJob.name, idle.bullmq), row(idleRun.name, idle.troupe)]
    parts.push(table(['idle system, one at a time', 'p50 ms', 'p99 ms'], rows))
  }
  if (cancel !== null) {
    const row = ['the last abort', cancel.p50Ms.toFixed(2), cancel.p99Ms.toFixed(2)]
    parts.push(table([`from an acknowledged cancel to, of ${workersBelow} workers`, 'p50 ms', 'p99 ms'], [row]))
  }
  return parts
}

function figureTable(results: readonly FigureResult[]): string {
  const rows = results.map(({ figure, value, ok }) => [
    figure.id,
    figure.what,
    value === null ? 'not measured' : withUnit(figure, value),
    `${sign(figure)} ${withUnit(figure, figure.target)}`,
    ok ? 'ok' : 'MISSED',
  ])
  return table(['', 'figure', 'value', 'must hold', ''], rows)
}

function sign({ better }: Figure): string {
  return better === 'higher' ? '≥' : '≤'
}

function withUnit({ unit }: Figure, value: number): string {
  return unit === '×' ? `${rounded(value)} ×` : `${rounded(value)} ${unit}`
}

/** More digits than such a measurement carries, so that a value just below its target is not printed as the target. */
function rounded(value: number): number {
  return value >= 1_000 ? Math.round(value) : Number(value.toPrecision(4))
}

/** First column to the left, the others to the right, unless they hold words. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const isNumeric = head.map((_, column) => rows.every((row) => /^[≤≥\d]/.test(row[column] ?? '')))
  const lines = all.map((row) =>
    row.map((cell, column) =>
      isNumeric[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    ),
  )
  return lines.map((cells) => cells.join('  ').trimEnd()).join('\n')
}
