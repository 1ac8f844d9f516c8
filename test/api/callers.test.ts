/** Who a token or a ticket stands for, and how long. It needs no Redis. */
import { expect, test } from 'vitest'
import type { Caller } from '../../src/api/guard/rights.ts'
import { Tickets } from '../../src/api/guard/tickets.ts'
import { entryOf, newToken, Tokens } from '../../src/api/guard/tokens.ts'
import { ConfigError } from '../../src/core/errors.ts'

const ada: Caller = { name: 'ada', rights: ['read'] }
const token = 'x'.repeat(32)

test('a token has at least 32 characters (BEARER-2)', () => {
  expect(() => entryOf(token.slice(1), ada, 'TROUPE_TOKEN')).toThrow(ConfigError)
  expect(() => entryOf(token.slice(1), ada, 'TROUPE_TOKEN')).toThrow(/^TROUPE_TOKEN has 31 characters, /)
  expect(JSON.stringify(entryOf(token, ada, 'TROUPE_TOKEN'))).not.toContain(token)
  expect(newToken(ada).token.length).toBeGreaterThan(32)
})

test('a caller is known as long as its entry is as it was (BEARER-3)', () => {
  const entry = (more: Partial<Caller> = {}, text = token) => entryOf(text, { ...ada, ...more }, 'test')
  const tokens = new Tokens([entry()])
  const caller = tokens.callerOf(token) as Caller
  const other = entry({ name: 'bob' }, 'y'.repeat(32))
  const isKnown = (...entries: Parameters<Tokens['replace']>[0]) => {
    tokens.replace(entries)
    return tokens.knows(caller)
  }
  expect(isKnown(other, entry())).toBe(true)
  for (const changed of [
    [other],
    [entry({ rights: ['admin'] })],
    [entry({ ceiling: { limits: { tokens: 1 } } })],
    [entry({}, 'z'.repeat(32))],
  ]) {
    expect(isKnown(...changed)).toBe(false)
    // Nor is it known again, once it is as it was.
    expect(isKnown(entry())).toBe(false)
  }
})

test('a ticket opens its address once, within 30 s, and is worth nothing once it was tried elsewhere (TICKETS-1)', () => {
  const tickets = new Tickets()
  const give = () => tickets.give(ada, '/v1/events', 1_000).ticket
  const one = give()
  expect([1, 2].map(() => tickets.take(one, '/v1/events', 31_000))).toEqual([ada, undefined])
  expect(tickets.take(give(), '/v1/events', 31_001)).toBeUndefined()
  const tried = give()
  for (const path of ['/v1/events/', '/v1/events']) expect(tickets.take(tried, path, 1_000)).toBeUndefined()
})

test('ten thousand tickets may be open; the oldest goes first', () => {
  const tickets = new Tickets()
  const [first, second] = Array.from({ length: 10_001 }, () => tickets.give(ada, '/v1/events', 0).ticket)
  expect([first, second].map((one) => tickets.take(String(one), '/v1/events', 0))).toEqual([undefined, ada])
})
