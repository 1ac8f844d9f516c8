/** What handlers, tools and models throw ends their run with a failure that says why, whatever it is. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'

function unreadable(field: 'message' | 'name' | 'stack'): Error {
  const error = new Error('')
  Object.defineProperty(error, field, {
    get() {
      throw new Error('not to be read')
    },
  })
  return error
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const hostile: [string, () => unknown][] = [
  ['an Error whose message throws', () => unreadable('message')],
  ['an Error whose name throws', () => unreadable('name')],
  ['an Error whose stack throws', () => unreadable('stack')],
  ['an Error whose message is a symbol', () => Object.assign(new Error('x'), { message: Symbol('x') })],
  ['a revoked proxy', revoked],
]

describe('an entry that cannot be read', () => {
  test.each(hostile)('%s: a handler fails with it, once', async (_, make) => {
    let received = 0
    const throws = defineWorker({
      retries: 0,
      receive() {
        received++
        throw make()
      },
    })
    await using troupe = await TestTroupe.start({ workers: { throws } })
    expect(await troupe.run('throws')).toMatchObject({
      status: 'failed',
      failure: { code: 'handler_failed', message: expect.any(String) as string },
    })
    expect(received).toBe(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test.each(hostile)('%s: a model fails its run with it, and a tool tells the model', async (_, make) => {
    const tool = defineTool({
      name: 'break',
      description: 'Breaks.',
      effect: 'pure',
      run() {
        throw make()
      },
    })
    const model = recordedModel('test/breaks', ({ messages }) => {
      if (messages.length === 1) return call('break')
      if (JSON.stringify(messages.at(-1)).includes('error-text')) throw make()
      return say('fine')
    })
    await using troupe = await TestTroupe.start({
      workers: { breaks: defineWorker({ instructions: 'Break.', model, tools: [tool], retries: 0 }) },
    })
    expect(await troupe.run('breaks', 'go')).toMatchObject({
      status: 'failed',
      failure: { code: 'handler_failed', origin: 'model' },
    })
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
