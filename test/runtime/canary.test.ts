/** A secret that the environment holds, and one that only looks like one, are put everywhere where user code can put text. */
import type { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../src/core/errors.ts'
import { rememberSecret } from '../../src/core/secret/known-secrets.ts'
import { call, say } from '../../src/models/local/scripted-model.ts'
import { keysOf } from '../store/support/dump.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const canary = 'c4nary-0f-the-environment'
const bearer = 'Bearer t0kenOfSomebodyElse'
const address = 'redis://u:w0rdInAnAddress@h'
const all = /c4nary|t0kenOf|w0rdInAn/

/** Everything that Redis holds of a namespace. */
async function stored(redis: Redis, namespace: string): Promise<string> {
  const parts: unknown[] = []
  for (const key of await keysOf(redis, namespace)) {
    const read = {
      string: () => redis.get(key),
      hash: () => redis.hgetall(key),
      list: () => redis.lrange(key, 0, -1),
      set: () => redis.smembers(key),
      zset: () => redis.zrange(key, 0, '-1'),
      stream: () => redis.xrange(key, '-', '+'),
    }[await redis.type(key)]
    parts.push(await read?.())
  }
  return JSON.stringify(parts)
}

test('no secret reaches Redis, the next prompt or a log line, whether a tool or a handler throws, returns, logs or records it', async () => {
  rememberSecret(canary)
  const said = `no access with ${canary}, ${bearer} at ${address}`
  const lines: string[] = []
  const tools = [
    defineTool({
      name: 'throws',
      description: 'x',
      effect: 'pure',
      run() {
        throw new Error(said)
      },
    }),
    defineTool({
      name: 'returns',
      description: 'x',
      effect: 'pure',
      run: (_, { log, setFact, progress }) => {
        log.info(said, { password: 'w0rdInAnAddress', headers: { authorization: bearer }, said })
        setFact('seen', { said })
        progress(said)
        return { said, apiKey: 't0kenOfSomebodyElse', list: [said] }
      },
    }),
    defineTool({ name: 'text', description: 'x', effect: 'pure', run: () => said }),
    defineTool({
      name: 'ends',
      description: 'x',
      effect: 'once',
      approval: 'never',
      run() {
        throw new TerminalError(said)
      },
    }),
  ]
  const model = recordedModel('test/m', [call('throws'), call('returns'), call('text'), say('done'), call('ends')])
  const handler = defineWorker({
    retries: 1,
    receive(_, self) {
      self.log.warn({ token: 't0kenOfSomebodyElse' } as never, said as never)
      throw new Error(said)
    },
  })
  const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools }), handler },
    logger,
    policy: { retryBackoffMs: 1 },
  })
  const session = await troupe.create('agent', 'go', { keepOpen: true })
  expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed' })
  await session.root.send('again')
  expect(await session.result({ run: 2 })).toMatchObject({ status: 'failed' })
  expect(await troupe.run('handler')).toMatchObject({ status: 'failed' })
  const prompts = JSON.stringify(model.requests)
  expect(prompts).toContain('[redacted]')
  expect(prompts).not.toMatch(all)
  const texts = await stored(troupe.redis, troupe.namespace)
  expect(texts).toContain('[redacted]')
  expect(texts).not.toMatch(all)
  expect(lines.join('')).toContain('[redacted]')
  expect(lines.join('')).not.toMatch(all)
})
