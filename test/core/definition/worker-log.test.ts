/** Worker code may call its log in all forms that other loggers accept. */
import { describe, expect, test } from 'vitest'
import { readLogCall } from '../../../src/core/definition/worker-log.ts'

const error = new TypeError('no luck')
const caused = new Error('no luck', { cause: new Error('why') })
const told = { error: 'TypeError: no luck', stack: error.stack }

describe('readLogCall', () => {
  test.each([
    ['a message', ['hi', undefined], ['hi', {}]],
    ['a message and fields', ['hi', { a: 1 }], ['hi', { a: 1 }]],
    ['fields and a message, as pino takes them', [{ a: 1 }, 'hi'], ['hi', { a: 1 }]],
    ['fields alone', [{ a: 1 }, undefined], ['', { a: 1 }]],
    ['a message and an error', ['hi', error], ['hi', told]],
    ['a message and an error among fields', ['hi', { error, a: 1 }], ['hi', { ...told, a: 1 }]],
    ['an error and a message', [error, 'hi'], ['hi', told]],
    ['an error and its cause', ['hi', caused], ['hi', { error: 'Error: no luck: why', stack: caused.stack }]],
    ['an error alone', [error, undefined], ['no luck', told]],
    ['a message and a value', ['hi', 5], ['hi', { value: 5 }]],
    ['a message and a list', ['hi', [5]], ['hi', { value: [5] }]],
    ['two texts', ['hi', 'there'], ['hi', { value: 'there' }]],
    ['a value alone', [5, undefined], ['', { value: 5 }]],
    ['null', [null, null], ['', { value: null }]],
  ] as [string, [unknown, unknown], unknown][])('%s', (_, [message, fields], spoken) => {
    expect(readLogCall(message, fields)).toEqual(spoken)
  })
})
