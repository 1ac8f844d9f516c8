/** Random lives of agents, for some seconds: `npm run lives` has the long form. */
import { expect, test } from 'vitest'
import { drawSeed } from '../support/fault/fault-settings.ts'
import { liveMany } from './live-many.ts'

const most = 80
const mostMs = 12_000

test('random lives: every prompt is valid, nothing owed and no message is lost, undo is exact, each call has one result (LIFE-1 to LIFE-6) [0.10]', async () => {
  const { faults, counts, lives } = await liveMany(drawSeed(), most, Date.now() + mostMs)
  expect(faults).toEqual([])
  // Each sort of trouble came, unless a loaded machine had time for fewer lives.
  expect(Object.entries(counts).filter(([, count]) => count === 0 && lives === most)).toEqual([])
}, 60_000)
