/** The figures of the bench: when a ratio holds, and what the loaded ones compare. */
import { expect, test } from 'vitest'
import { figures, judge, type Measurements } from '../../bench/figures.ts'
import type { Window } from '../../bench/measure/steady-window.ts'

const nothing: Measurements = {
  windows: new Map(),
  loaded: new Map(),
  growth: null,
  memory: null,
  idle: null,
  cancel: null,
}

function windows(perSecond: readonly number[]): Window[] {
  return perSecond.map((rate) => ({ perSecond: rate }) as Window)
}

function judged(id: string, measured: Partial<Measurements>) {
  const figure = figures.find((one) => one.id === id)
  if (figure === undefined) throw new Error(`There is no figure ${id}.`)
  const { value, ok } = judge(figure, { ...nothing, ...measured })
  return { value, ok }
}

test('a ratio is the median of the ratios of the rounds', () => {
  const measured = new Map([
    ['agent', windows([300, 100, 500])],
    ['agent-handwritten', windows([100, 50, 100])],
  ])
  expect(judged('P2', { windows: measured })).toEqual({ value: 3, ok: true })
})

test('a loaded figure holds when troupe is ahead of the peer under load, whatever the idle machine showed', () => {
  const ahead = new Map([
    ['tree', windows([30, 31])],
    ['tree-flow', windows([20, 20])],
  ])
  const behind = new Map([
    ['tree', windows([30, 30])],
    ['tree-flow', windows([40, 40])],
  ])
  expect(judged('P8b', { windows: behind, loaded: ahead })).toEqual({ value: 1.525, ok: true })
  expect(judged('P8b', { windows: ahead, loaded: behind })).toEqual({ value: 0.75, ok: false })
})

test('a figure has no value, and misses its bound, if a contestant failed', () => {
  expect(judged('P8a', { loaded: new Map([['agent', windows([30])]]) })).toEqual({ value: null, ok: false })
})
