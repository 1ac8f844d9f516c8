import { describe, expect, test } from 'vitest'
import { pointName, pointsPassed, spread } from '../../../src/testing/crash/crash-point.ts'

describe('crash points', () => {
  test('crash points are numbered by type of call and by side, in the order of the run', () => {
    const passed = pointsPassed([
      { side: 'before', call: 'claim' },
      { side: 'before', call: 'tool pay of payer' },
      { side: 'before', call: 'tool pay of payer' },
      { side: 'after', call: 'tool pay of payer' },
      { side: 'after', call: 'claim' },
    ])
    expect(passed.map(pointName)).toEqual([
      'before claim #1',
      'before tool pay of payer #1',
      'before tool pay of payer #2',
      'after tool pay of payer #1',
      'after claim #1',
    ])
  })

  test.each([
    [10, 4, [0, 3, 6, 9]],
    [3, 3, [0, 1, 2]],
    [3, 200, [0, 1, 2]],
    [5, 1, [4]],
    [0, 2, []],
  ])('%i crash points, of which %i are chosen, are chosen evenly', (there, most, chosen) => {
    expect(spread([...Array(there).keys()], most)).toEqual(chosen)
  })
})
