/** What `startNode` refuses in one sentence, before it opens a connection. */
import { expect, test } from 'vitest'
import { startNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { CountingServer } from '../../support/counting-server.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('a node of no kinds does not start', async () => {
  await using troupe = await TestTroupe.connect()
  const options = { redisUrl: troupe.redisUrl, namespace: troupe.namespace, workers: {} }
  await expect(startNode(options)).rejects.toMatchObject({ code: 'config_invalid' })
})

test.each([
  [
    { workers: { echo }, concurency: 5 },
    /^startNode does not know the option "concurency"; .*Did you mean concurrency\?$/,
  ],
  [{ workers: { echo }, concurrency: 0 }, /^concurrency of startNode must be a whole number from 1 to 10000, not 0\.$/],
  [{ workers: { echo }, concurrency: -1 }, /^concurrency of startNode must be .*, not -1\.$/],
  [{ workers: { echo }, concurrency: 1.5 }, /^concurrency of startNode must be .*, not 1\.5\.$/],
  [{ workers: { echo }, concurrency: Number.NaN }, /^concurrency of startNode must be .*, not NaN\.$/],
  [{ workers: { echo }, concurrency: 1e9 }, /^concurrency of startNode must be .*, not 1000000000\.$/],
  [{ workers: { echo }, pools: 'gpu' }, /^pools of startNode must be a list of names .*, not "gpu"\.$/],
  [{ workers: { echo }, pools: [] }, /^pools of startNode must be a list of names .*, not \[\]\.$/],
  [{ workers: { echo }, namespace: 'a b' }, /^namespace of startNode must be .*, not "a b"\.$/],
  [
    { workers: { echo }, models: 'openai/gpt-5' },
    /^models of startNode must be an object like .*, not "openai\/gpt-5"\.$/,
  ],
  [{ workers: { echo }, models: { defualt: 'x', env: {} } }, /^models of startNode does not know the option "defualt"/],
  [{ workers: { echo }, models: { default: 'openai/x' } }, /^env of models of startNode must be .*, not undefined\.$/],
  [
    {},
    /^workers of startNode must be a folder of worker files \(a path or a file URL\), or definitions by kind, .*, not undefined\.$/,
  ],
  [
    { workers: new URL('https://example.com/workers') },
    /^workers of startNode must be a folder of worker files \(a path or a file URL\)/,
  ],
  [{ workers: [echo] }, /^workers of startNode must be .*, not \[an object\]\.$/],
  [{ workers: echo }, /^workers of startNode must be .*, not an object\.$/],
  [{ workers: '' }, /^workers of startNode must be a folder of worker files .*, not ""\.$/],
  [{ workers: { 'Bad Kind': echo } }, /^"Bad Kind" is not a worker kind: .* a lower-case letter or a digit first/],
  [{ workers: new Map([[5, echo]]) }, /^5 is not a worker kind/],
  [{ workers: { fn: () => 1 } }, /^the worker of kind "fn" is a function: make it with defineWorker/],
  [{ workers: { obj: {} } }, /^the worker of kind "obj" is an object: make it with defineWorker/],
  [{ workers: { echo: null } }, /^the worker of kind "echo" is null: make it with defineWorker/],
])('a node with %o does not start, and opens no connection', async (options, message) => {
  await using server = await CountingServer.start()
  await expect(startNode({ redisUrl: server.url, ...options } as never)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(message),
  })
  expect(await server.connections()).toBe(0)
})

test.each([undefined, null, './workers'])('a node of the wrong kinds %j is one clear sentence', async (options) => {
  await expect(startNode(options as never)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/^startNode takes an object with redisUrl, .*, workers, /),
  })
})
