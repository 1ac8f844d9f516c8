/** Facts that a tool call sets. */
import { expect, test } from 'vitest'
import { TransientError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/history/chat/chat-message.ts'
import { policy } from '../../../src/core/policy.ts'
import { failure, runOf, toolOf } from './support/run-tool.ts'

test('facts are part of a result and of a failure', async () => {
  const value = { list: [1] }
  const tool = toolOf((_input, { setFact }) => {
    setFact('first', 1)
    setFact('second', value)
    setFact('first', 2)
    value.list.push(2)
  })
  expect(await runOf(tool)).toMatchObject({ kind: 'done', facts: { first: 2, second: { list: [1] } } })
  const failing = toolOf((_input, { setFact }) => {
    setFact('found', true)
    throw new Error('then it broke')
  })
  expect(await runOf(failing)).toEqual({ ...failure('then it broke'), facts: { found: true } })
})

test('a fact that cannot be recorded fails the call, even if the tool goes on', async () => {
  const deep = JSON.parse('['.repeat(65) + ']'.repeat(65)) as Json
  const cases: [name: string, value: unknown, why: RegExp][] = [
    [
      'big',
      'x'.repeat(policy.messageBytesMax),
      /^Error: fact "big" of tool "a" has 1048578 bytes of JSON; the limit is 1048576/,
    ],
    ['whole', 1n, /^Error: fact "whole" of tool "a" cannot be written as JSON/],
    ['f', () => 1, /^Error: fact "f" of tool "a" cannot be written as JSON/],
    ['deep', deep, /^Error: fact "deep" of tool "a" is nested more than 64 deep/],
    ['', 1, /^Error: tool "a": "" is not a valid name of a fact/],
    ['__proto__', 1, /^Error: tool "a": "__proto__" is not a valid name of a fact/],
    ['n'.repeat(policy.nameBytesMax + 1), 1, /is not a valid name of a fact/],
  ]
  for (const [name, value, why] of cases) {
    for (const caught of [true, false]) {
      const tool = toolOf((_input, { setFact }) => {
        setFact('good', 1)
        try {
          setFact(name, value as Json)
        } catch (error) {
          if (!caught) throw error
        }
        return 'went on'
      })
      const outcome = await runOf(tool)
      expect(outcome).toMatchObject({ kind: 'failed', facts: {} })
      expect((outcome as { output: { value: string } }).output.value).toMatch(why)
    }
  }
})

test('all facts of a call together have at most 4 MiB; a name that is set twice counts once', async () => {
  const quarter = 'x'.repeat(policy.messageBytesMax - 2)
  const full = toolOf((_input, { setFact }) => {
    for (const name of ['a', 'b', 'c', 'd', 'd', 'a']) setFact(name, quarter)
  })
  expect(await runOf(full)).toMatchObject({ kind: 'done' })
  const over = toolOf((_input, { setFact }) => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) setFact(name, name === 'e' ? 1 : quarter)
  })
  expect(await runOf(over)).toMatchObject({
    kind: 'failed',
    output: {
      value: expect.stringContaining('would have 4194305 bytes together with "e"; the limit is 4194304') as string,
    },
  })
})

test('a call fails with the first fact that was refused, whatever else its tool throws (FACTS-1)', async () => {
  const tool = toolOf((_input, { setFact }) => {
    for (const [name, value] of [
      ['whole', 1n],
      ['', 1],
    ] as const) {
      try {
        setFact(name, value as Json)
      } catch {}
    }
    throw new TransientError('try it again')
  })
  const value = expect.stringContaining('fact "whole" of tool "a" cannot be written as JSON') as string
  expect(await runOf(tool)).toMatchObject({ kind: 'failed', output: { value }, facts: {} })
})

test('a name has at most 64 bytes, not characters', async () => {
  const set = (name: string) => runOf(toolOf((_input, { setFact }) => setFact(name, 1)))
  const most = 'é'.repeat(policy.nameBytesMax / 2)
  expect(await set(most)).toMatchObject({ kind: 'done', facts: { [most]: 1 } })
  expect(await set(`${most}x`)).toMatchObject({ kind: 'failed' })
})

test('half surrogate pairs in facts are replaced, and the replacement counts in bytes', async () => {
  const half = toolOf((_input, { setFact }) => setFact('note', { 'k\udc00': 'a\ud800b' }))
  expect(await runOf(half)).toMatchObject({ kind: 'done', facts: { note: { 'k\ufffd': 'a\ufffdb' } } })
  const quarter = 'é'.repeat(policy.messageBytesMax / 2 - 1)
  const over = toolOf((_input, { setFact }) => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) setFact(name, quarter)
  })
  expect(await runOf(over)).toMatchObject({ kind: 'failed' })
})
