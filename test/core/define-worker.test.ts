/** What an author writes is checked when it is defined, and the error names the field. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker, type HandlerWorker, isWorkerDefinition } from '../../src/core/define-worker.ts'
import { ConfigError } from '../../src/core/errors.ts'

const receive = () => {}
const define = (worker: unknown) => defineWorker(worker as HandlerWorker)

describe('defineWorker', () => {
  test('gives a frozen definition that is known as one', () => {
    const definition = defineWorker({ description: 'Says it again.', receive })
    expect(isWorkerDefinition(definition)).toBe(true)
    expect(Object.isFrozen(definition)).toBe(true)
    expect(definition).toMatchObject({ description: 'Says it again.', receive })
  })

  test('takes everything that is documented', () => {
    const full = {
      description: 'x',
      state: z.object({ n: z.number() }),
      initial: { n: 0 },
      input: z.string(),
      spawns: ['reader', 'a/b'],
      pool: 'gpu',
      retries: 0,
      timeoutMs: 1_000,
      receive,
    }
    expect(isWorkerDefinition(define(full))).toBe(true)
  })

  test.each([
    ['nothing', undefined, /takes an object with a receive function/],
    ['a function', receive, /takes an object with a receive function/],
    ['no receive', {}, /needs a receive function/],
    ['a receive that is no function', { receive: 'x' }, /needs a receive function/],
    ['an unknown field', { receive, recieve: receive }, /does not know the field "recieve"; it takes description, /],
    ['a state schema without initial', { receive, state: z.string() }, /state schema needs an initial state/],
    ['a pool with a colon', { receive, pool: 'a:b' }, /pool "a:b" is not a pool name/],
    ['the pool that is reserved', { receive, pool: 'unhosted' }, /pool "unhosted" is reserved/],
    ['a kind that is none', { receive, spawns: ['ok', '../x'] }, /spawns names "\.\.\/x", which is not a worker kind/],
    ['kinds that are no list', { receive, spawns: 'reader' }, /spawns/],
    ['negative retries', { receive, retries: -1 }, /retries/],
    ['half a retry', { receive, retries: 1.5 }, /retries/],
    ['a timeout of nothing', { receive, timeoutMs: 0 }, /timeoutMs/],
    ['a timeout that timers cannot hold and would fire at once', { receive, timeoutMs: 2 ** 31 }, /timeoutMs/],
  ])('%s is a ConfigError that names it', (_, worker, message) => {
    expect(() => define(worker)).toThrow(ConfigError)
    expect(() => define(worker)).toThrow(message)
  })

  test('only what it made is a definition', () => {
    for (const value of [{ receive }, null, undefined, 'x', receive]) expect(isWorkerDefinition(value)).toBe(false)
  })
})
