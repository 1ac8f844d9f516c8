/** Messages: what is put into a mailbox is what a worker receives, and heads hold what scripts may match. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvariantError } from '../../../src/core/errors.ts'
import { childId, newId } from '../../../src/core/ids.ts'
import {
  decodeHead,
  decodeMail,
  decodeMessage,
  encodeGivenInput,
  encodeInput,
  encodeLimitedInput,
  encodeRepeated,
  encodeResult,
  signalLetters,
} from '../../../src/core/worker/message/message.ts'
import { anyJson, anyText, asJson } from '../support/any-text.ts'

const parent = newId(5)
const child = { id: childId(parent, 1, 1), name: 'reader-1', kind: 'reader' }

test('each type of mail has its own letter', () => {
  const input = { kind: 'input', id: 'inbox-0', from: null, value: 1 } as const
  const mails = [
    encodeInput(parent, '1'),
    encodeGivenInput(parent, '1', '{}'),
    encodeLimitedInput(parent, 'tools a', '1'),
    encodeResult(child, 1, { status: 'completed', valueJson: '1' }),
    encodeRepeated(input),
  ]
  const letters = [...mails.map(([letter]) => letter), ...Object.values(signalLetters)]
  expect(new Set(letters).size).toBe(letters.length)
})

describe('an input', () => {
  test('an input comes back with its value and sender, whatever they hold', () => {
    fc.assert(
      fc.property(anyJson, fc.constantFrom(null, parent), (value, from) => {
        const text = encodeInput(from, JSON.stringify(value))
        expect(decodeMessage(text, 'inbox-3')).toEqual({ kind: 'input', id: 'inbox-3', from, value: asJson(value) })
      }),
    )
  })

  test('an input with facts is read back with its facts, its value and its sender', () => {
    fc.assert(
      fc.property(anyJson, fc.dictionary(anyText, fc.jsonValue()), (value, facts) => {
        const text = encodeGivenInput(parent, JSON.stringify(value), JSON.stringify(facts))
        const message = { kind: 'input', id: 'inbox-3', from: parent, value: asJson(value), facts: asJson(facts) }
        expect(decodeMessage(text, 'inbox-3')).toEqual(message)
        expect(text.split('\t')).toHaveLength(3)
      }),
    )
  })

  test('an input without facts is read back without any, not with empty ones', () => {
    expect(decodeMessage(encodeInput(parent, '1'), 'inbox-3')).not.toHaveProperty('facts')
  })

  test('an input has its position in the lane as its id, the same in every attempt', () => {
    const text = encodeInput(null, '1')
    expect(decodeMail('inbox', 7, text).message.id).toBe(decodeMail('inbox', 7, text).message.id)
    expect(decodeMail('inbox', 7, text).message.id).not.toBe(decodeMail('inbox', 8, text).message.id)
  })
})

describe('a result', () => {
  test('a result comes back with the value, the child and its call', () => {
    fc.assert(
      fc.property(anyJson, anyText, fc.integer({ min: 1, max: 100_000 }), (value, name, call) => {
        const text = encodeResult({ ...child, name }, call, { status: 'completed', valueJson: JSON.stringify(value) })
        expect(decodeMessage(text, 'results-0')).toEqual({
          kind: 'result',
          id: `${child.id}:${call}`,
          from: child.id,
          name: asJson(name),
          workerKind: 'reader',
          call,
          status: 'completed',
          value: asJson(value),
          failure: null,
        })
      }),
    )
  })

  test.each(['failed', 'cancelled'] as const)('the result of a %s run has no value, and its failure', (status) => {
    const failure = {
      code: 'run_failed',
      message: 'a\tb\nc',
      origin: 'handler',
      at: 1,
      attempt: 4,
      retryable: false,
    } as const
    expect(decodeMessage(encodeResult(child, 2, { status, failure }), 'results-0')).toMatchObject({
      status,
      value: null,
      failure,
    })
  })

  test('a result has the id of the child where scripts look for it', () => {
    const text = encodeResult(child, 2, { status: 'completed', valueJson: '1' })
    expect(text.slice(2, 38)).toBe(child.id)
    expect(text.split('\t').slice(0, 4)).toEqual(['r', child.id, '2', 'completed'])
  })
})

describe('a timer', () => {
  test('a timer comes back with its id and value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const id = newId(0)
        const text = `t\t${id}\t${JSON.stringify(value)}`
        expect(decodeMessage(text, 'signals-0')).toEqual({ kind: 'timer', id, from: null, value: asJson(value) })
      }),
    )
  })
})

describe('in the lane of signals', () => {
  const id = newId(0)
  const answer = `${signalLetters.answer}\t${id}\t{"status":"answered","value":"yes","by":"ada","reason":null}`

  test('an answer comes back with the id of its ask', () => {
    const body = { status: 'answered', value: 'yes', by: 'ada', reason: null }
    expect(decodeMessage(answer, 'signals-0')).toEqual({ kind: 'answer', id, from: null, ...body })
    expect(decodeHead(answer)).toEqual({ kind: 'answer', id })
  })

  test('a message that is received again is told apart from timers and answers', () => {
    for (const text of [`t\t${id}\t7`, answer]) {
      const message = decodeMessage(text, 'signals-0')
      const again = encodeRepeated(message)
      expect(decodeMessage(again, 'signals-1')).toEqual(message)
      expect(decodeHead(again)).toEqual({ kind: 'repeated', id })
    }
  })
})

describe('a mail', () => {
  test('a mail knows its lane and position', () => {
    expect(decodeMail('signals', 4, 't\tt1\tnull')).toMatchObject({ lane: 'signals', position: 4 })
  })

  test('a mail has no tab or line end but in its value: JSON escapes them (MAIL-1)', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const parts = encodeInput(null, JSON.stringify(value)).split('\t')
        expect(parts).toHaveLength(3)
        expect(encodeInput(null, JSON.stringify(value))).not.toMatch(/[\n\r]/)
      }),
    )
  })

  test('a mail of an unknown type is a bug of troupe, and the error says what was read', () => {
    expect(() => decodeMessage('x\t1', 'inbox-0')).toThrow(InvariantError)
    expect(() => decodeMessage('x\t1', 'inbox-0')).toThrow(/unknown sort "x\\t1"/)
    expect(() => decodeMessage('', 'inbox-0')).toThrow(InvariantError)
  })
})

describe('a mail that cannot be read', () => {
  test('an unreadable mail is read as an input that holds its beginning and the reason', () => {
    const text = `i\t-\t{"half${'x'.repeat(2_000)}`
    expect(decodeMail('inbox', 7, text)).toEqual({
      lane: 'inbox',
      position: 7,
      message: { kind: 'input', id: 'inbox-7', from: null, value: text.slice(0, 1_000) },
      malformed: expect.stringContaining('JSON'),
    })
  })

  test.each(['', '?', 'x\ty', 'i', 'r', 't'])('a mail that cannot be read throws nothing: %j', (text) => {
    expect(decodeMail('results', 0, text)).toMatchObject({ malformed: expect.any(String) })
  })

  test('an unreadable mail answers the parent that waits for a result, as one that failed for good', () => {
    const text = encodeResult(child, 3, { status: 'completed', valueJson: '1' }).slice(0, -4)
    expect(decodeMail('results', 2, text)).toMatchObject({
      message: {
        kind: 'result',
        id: `${child.id}:3`,
        from: child.id,
        call: 3,
        status: 'failed',
        value: null,
        failure: { code: 'input_invalid', retryable: false, message: expect.stringContaining(child.id) },
      },
    })
  })
})

test('an input of a restricted worker comes back without its permissions, and with tabs that stand in its JSON', () => {
  const text = encodeLimitedInput(parent, 'tools a\nsend none', '{"a":\t"b\\tc"}')
  expect(decodeMessage(text, 'inbox-0')).toEqual({ kind: 'input', id: 'inbox-0', from: parent, value: { a: 'b\tc' } })
  expect(decodeHead(text)).toEqual({ kind: 'input', from: parent })
  const plain = { kind: 'input', id: 'inbox-1', from: parent, value: { a: 1 } }
  expect(decodeMessage(encodeLimitedInput(parent, '', '{"a":\t1}'), 'inbox-1')).toEqual(plain)
})
