/** What `startNode` says of agents without a model, of kinds that cannot be used, and of too many pools. */
import { expect, inject, test } from 'vitest'
import { type StartNodeOptions, startNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newNamespace } from '../../support/namespace.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const clerk = defineWorker({ instructions: 'x' })
const thinker = defineWorker({ instructions: 'x', model: 'openai/gpt-5' })

async function logOf(options: Partial<StartNodeOptions>) {
  const lines: { level: string; message: string; fields: object }[] = []
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, message, fields })
  const logger = { debug: () => {}, info: at('info'), warn: at('warn'), error: at('error') }
  const base = { redisUrl: inject('redisUrl'), namespace: newNamespace(), workers: { echo, clerk }, logger }
  await using node = await startNode({ ...base, ...options })
  return { lines, kinds: node.kinds }
}

test.each([
  ['without any key', {}, [['info', expect.stringMatching(/^these agents name no model and run on offline\/rules/)]]],
  [
    'with an OpenAI key',
    { OPENAI_API_KEY: 'k1234567' },
    [['warn', expect.stringMatching(/^OPENAI_API_KEY is set, but/)]],
  ],
  ['with an Anthropic key', { ANTHROPIC_API_KEY: 'k' }, [['warn', expect.stringMatching(/^ANTHROPIC_API_KEY is set/)]]],
  ['with a key of no provider', { MAIL_API_KEY: 'k1234567' }, [['info', expect.anything()]]],
])('a node names the agents that run on the offline model: %s', async (_, env, said) => {
  const { lines } = await logOf({ models: { env } })
  expect(lines.map(({ level, message }) => [level, message])).toEqual(said)
  expect(lines[0]?.fields).toEqual({ kinds: ['clerk'] })
})

test.each([
  ['each agent has a model', { workers: { echo, thinker }, models: { env: { OPENAI_API_KEY: 'k1234567' } } }],
  ['a default is set', { models: { default: 'openai/gpt-5', env: { OPENAI_API_KEY: 'k1234567' } } }],
  ['the offline model was chosen', { models: { default: 'offline/rules', env: { OPENAI_API_KEY: 'k1234567' } } }],
  ['there are no agents', { workers: { echo }, models: { env: {} } }],
] as const)('a node does not mention the offline model if %s', async (_, options) => {
  expect((await logOf(options)).lines).toEqual([])
})

test('a node refuses a kind that cannot be used; with skipBroken it warns, and hosts the others', async () => {
  const options = { workers: { echo, thinker }, models: { env: {} } }
  await expect(logOf(options)).rejects.toThrow('kind "thinker": the model openai/gpt-5 needs a key')
  const { lines, kinds } = await logOf({ ...options, skipBroken: true })
  expect(kinds).toEqual(['echo'])
  expect(lines).toMatchObject([
    { level: 'warn', message: expect.stringContaining('needs a key') as string, fields: { kind: 'thinker' } },
  ])
  await expect(logOf({ workers: { thinker }, models: { env: {} }, skipBroken: true })).rejects.toThrow(
    'no kind can be used: the warnings before this say why.',
  )
})

test('a node takes its folder of worker files as a file URL, and names the path of one that is empty', async () => {
  const workers = new URL('../../../workers/', import.meta.url)
  expect((await logOf({ workers, models: { env: {} } })).kinds).toEqual(['reader', 'surveyor'])
  const empty = new URL('../../../docs/observability/', import.meta.url)
  await expect(logOf({ workers: empty })).rejects.toThrow(`the folder ${empty.pathname} holds no worker files`)
})

test('a node of more than 200 pools does not start, and one that serves some of them does', async () => {
  const pools = Array.from({ length: 201 }, (_, index) => `pool-${index}`)
  const workers = Object.fromEntries(pools.map((pool) => [pool, defineWorker({ pool, receive: () => undefined })]))
  await expect(logOf({ workers })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/^this node would serve 201 pools, and a node serves 200 at most: /),
  })
  expect((await logOf({ workers, pools: ['pool-0', 'pool-7'] })).kinds).toEqual(['pool-0', 'pool-7'])
})
