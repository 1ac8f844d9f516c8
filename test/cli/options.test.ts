import { describe, expect, it } from 'vitest'
import { limits, spendingLimits, wholeNumber } from '../../src/cli/options.ts'

describe('wholeNumber', () => {
  it('reads whole numbers only', () => {
    expect(wholeNumber(0)('0')).toBe(0)
    expect(wholeNumber(1)('50')).toBe(50)
    for (const text of ['', '0', '-1', '1.5', '1e3', 'x', '99999999999999999999'])
      expect(() => wholeNumber(1)(text)).toThrow(/from 1 on/)
  })
})

describe('limits', () => {
  it('collects pairs, the last one wins', () => {
    expect(limits('workers=500,depth=0', { workers: 1, children: 7 })).toEqual({ workers: 500, children: 7, depth: 0 })
  })

  it('names the limits there are', () => {
    for (const text of ['worker=5', 'workers', 'workers=5=6', '', 'toString=1']) {
      expect(() => limits(text, undefined)).toThrow(/workers, children, depth, mailbox/)
    }
    expect(() => limits('workers=0', undefined)).toThrow(/from 1 on/)
    expect(() => spendingLimits('workers=5', undefined)).toThrow(/with a name of: modelCalls, tokens\./)
  })
})
