import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import {
  addSessionOptions,
  idempotencyKey,
  limits,
  name,
  permissions,
  spendingLimits,
  wholeNumber,
} from '../../src/cli/options.ts'

describe('wholeNumber', () => {
  it('reads whole numbers only', () => {
    expect(wholeNumber(0)('0')).toBe(0)
    expect(wholeNumber(1)('50')).toBe(50)
    for (const text of ['', '0', '-1', '1.5', '1e3', 'x', '99999999999999999999'])
      expect(() => wholeNumber(1)(text)).toThrow(/from 1 on/)
  })
})

describe('the options of a session', () => {
  const parsed = (...args: string[]) =>
    addSessionOptions(new Command().exitOverride().configureOutput({ writeErr: () => {} }))
      .parse(args, { from: 'user' })
      .opts()

  it('the options of a session say for a weight and a priority which numbers they take', () => {
    expect(parsed('--weight', '1000', '--priority', '0')).toEqual({ weight: 1_000, priority: 0 })
    for (const text of ['', '0', '1001', '-1', '1.5', '1e2', 'x'])
      expect(() => parsed(`--weight=${text}`)).toThrow('Expected a whole number from 1 to 1000.')
    for (const text of ['', '10', '-1', '0.5', 'x'])
      expect(() => parsed(`--priority=${text}`)).toThrow('Expected a whole number from 0 to 9.')
  })
})

describe('idempotencyKey', () => {
  it('an idempotency key must not be empty', () => {
    expect(idempotencyKey('survey-42')).toBe('survey-42')
    expect(() => idempotencyKey('')).toThrow('Expected a key that is not empty.')
  })
})

describe('name', () => {
  it('a name must be a valid name of a worker', () => {
    expect(name('survey of docs')).toBe('survey of docs')
    for (const text of ['', 'x'.repeat(65), 'a\tb'])
      expect(() => name(text)).toThrow(/^Expected a text of 1 to 64 bytes without control characters\.$/)
  })
})

describe('limits', () => {
  it('limits are collected from all options, and the last value of a limit counts', () => {
    expect(limits('workers=500,depth=0', { workers: 1, children: 7 })).toEqual({ workers: 500, children: 7, depth: 0 })
  })

  it('lists the known limits in its error', () => {
    for (const text of ['worker=5', 'workers', 'workers=5=6', '', 'toString=1']) {
      expect(() => limits(text, undefined)).toThrow(/workers, children, depth, mailbox/)
    }
    expect(() => limits('workers=0', undefined)).toThrow(/from 1 on/)
    expect(() => spendingLimits('workers=5', undefined)).toThrow(/with a name of: modelCalls, tokens, toolCalls\./)
  })
})

describe('permissions', () => {
  it('adds up several options', () => {
    const one = permissions('tools=look_up,mail/send', undefined)
    expect(one).toEqual({ tools: ['look_up', 'mail/send'] })
    expect(permissions('tools=pay', one)).toEqual({ tools: ['look_up', 'mail/send', 'pay'] })
    expect(permissions('folder=/srv/a=b, c', permissions('kinds=', one))).toEqual({
      ...one,
      kinds: [],
      folder: '/srv/a=b, c',
    })
  })

  it('explains each restriction in its error', () => {
    for (const text of ['', 'tools', 'tool=x', 'toString=x', '=x'])
      expect(() => permissions(text, undefined)).toThrow(/tools=<names>, kinds=<names>, folder=<path>, or send=none/)
    for (const text of ['tools=a b', 'tools=a,,b', 'kinds=*'])
      expect(() => permissions(text, undefined)).toThrow(/list of names/)
    expect(() => permissions('folder=docs', undefined)).toThrow(/absolute path/)
    expect(() => permissions('folder=/a', { folder: '/b' })).toThrow(/one folder/)
  })
})
