/** `troupe dev` without a terminal: code that changes under living sessions, code that cannot be loaded, and nodes that die. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Troupe } from '../../../../src/index.ts'
import { partitionKeys, tagOf } from '../../../../src/store/keys.ts'
import { Project, type RunningCommand } from '../../../cli/command-line.ts'
import { newNamespace } from '../../../support/namespace.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

/** Its process dies once. If it died again and again, nobody would see how often. */
const greeter = `import { existsSync, writeFileSync } from 'node:fs'
import { defineWorker } from 'troupe'
import { greeting } from '../lib/greeting.ts'
export default defineWorker({ description: 'Greets.', receive(message, self) {
  if (message.value === 'leave' && !existsSync('left')) {
    writeFileSync('left', '')
    process.exit(3)
  }
  console.log('asked for', message.value)
  self.reply(greeting + ' ' + message.value)
} })`
const costly = `import { defineWorker } from 'troupe'
export default defineWorker({ instructions: 'Think.', model: 'openai/gpt-5' })`

const plain = `import { defineWorker } from 'troupe'
export default defineWorker({ instructions: 'Think.' })`

const namespace = newNamespace()
let project: Project
let troupe: Troupe
let dev: RunningCommand
beforeAll(async () => {
  project = await Project.create(
    {
      'workers/greeter.ts': greeter,
      'workers/costly.ts': costly,
      'workers/plain.ts': plain,
      '.env': 'TROUPE_MODEL=offline/rules',
      'lib/greeting.ts': `export const greeting = 'hello'`,
    },
    { TROUPE_REDIS_URL: inject('redisUrl'), TROUPE_NAMESPACE: namespace },
  )
  const prices = await project.write('prices.json', '{"offline/rules":{"input":1000000,"output":0}}')
  dev = project.start(['dev', '--json', '--prices', prices])
  await dev.saw('"type":"ready"', 'stdout')
  troupe = await connect({ redisUrl: inject('redisUrl'), namespace })
})
afterAll(async () => {
  await troupe?.close()
  await project[Symbol.asyncDispose]()
})

function happened(type: string): Record<string, unknown>[] {
  const whole = dev.stdout.slice(0, dev.stdout.lastIndexOf('\n') + 1)
  const lines = whole.split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((object) => object.type === type)
}

async function times(type: string, number: number): Promise<void> {
  const isSo = () => happened(type).length === number
  await waitUntil(`${number} times ${type}`, isSo).catch((error: Error) => {
    throw new Error(`${error.message} It printed:\n${dev.stdout.slice(-4_000)}${dev.stderr.slice(-2_000)}`)
  })
}

test('troupe dev says which kinds run, and which variable a kind lacks', () => {
  expect(happened('loaded')).toMatchObject([
    {
      kinds: [
        { kind: 'greeter', sort: 'handler', description: 'Greets.' },
        { kind: 'plain', sort: 'agent', model: 'offline/rules' },
      ],
      problems: [{ kind: 'costly', at: 'use', message: expect.stringContaining('set OPENAI_API_KEY') as string }],
    },
  ])
})

test('troupe dev reloads changed files under a living session, and keeps the running code if the new code cannot be loaded', async () => {
  const session = await troupe.sessions.create({ kind: 'greeter', input: 'Ada', keepOpen: true })
  expect(await session.result()).toMatchObject({ value: 'hello Ada' })

  await project.write('lib/greeting.ts', 'export const greeting = ')
  await times('kept', 1)
  expect(happened('kept')).toMatchObject([
    {
      problems: [
        { kind: 'greeter', message: expect.stringMatching(/line 1 of \S+greeting\.ts.*SyntaxError/) as string },
      ],
    },
  ])
  await session.root.send('Grace')
  expect(await session.result({ run: 2 })).toMatchObject({ value: 'hello Grace' })

  // The same error is said once: the next thing that is said is that the mended code runs.
  await project.write('workers/greeter.ts', `${greeter}\n`)
  await project.write('lib/greeting.ts', `export const greeting = 'good morning'`)
  await times('loaded', 2)
  expect(happened('kept')).toHaveLength(1)
  await session.root.send('Edsger')
  expect(await session.result({ run: 3 })).toMatchObject({ value: 'good morning Edsger' })
  // The output of code comes through a pipe, and may be later than the result.
  await dev.saw('{"type":"output","line":"asked for Edsger"}', 'stdout')
})

test('the node of troupe dev counts with the prices of --prices', async () => {
  const session = await troupe.sessions.create({ kind: 'plain', input: 'Think.' })
  await session.result()
  expect((await session.report()).session.usage.costMicroUsd).toBeGreaterThan(0)
})

test('a key and another model in .env and a new worker file are enough: the kinds run without a restart', async () => {
  await project.write('.env', 'OPENAI_API_KEY=sk-0123456789abcdef\nTROUPE_MODEL=openai/gpt-5-mini')
  await times('loaded', 3)
  expect(happened('loaded').at(-1)).toMatchObject({
    files: ['.env'],
    kinds: [{ kind: 'costly' }, { kind: 'greeter' }, { kind: 'plain', model: 'openai/gpt-5-mini' }],
    problems: [],
  })
  await project.write('workers/echo.ts', greeter.replace('greeting +', ''))
  await times('loaded', 4)
  const session = await troupe.sessions.create({ kind: 'echo', input: 'x' })
  expect(await session.result()).toMatchObject({ status: 'completed' })
})

test('a node that dies is replaced, and its work goes on', async () => {
  const session = await troupe.sessions.create({ kind: 'greeter', input: 'Barbara', keepOpen: true })
  await session.result()
  await session.root.send('leave')
  await times('died', 1)
  expect(happened('died')).toMatchObject([{ how: expect.stringMatching(/exit code/) as string }])
  await times('loaded', 5)
  expect(await session.result({ run: 2 })).toMatchObject({ value: 'good morning leave' })
  await session.cancel()
})

test('a folder without worker files any more changes nothing: the running kinds go on', async () => {
  const workers = join(project.folder, 'workers')
  // It goes last: as long as another file is there, what is left is loaded.
  const others = (await readdir(workers)).filter((file) => file !== 'greeter.ts')
  for (const file of [...others, 'greeter.ts']) await rm(join(workers, file))
  await times('kept', 2)
  expect(happened('kept').at(-1)).toMatchObject({
    problems: [{ message: expect.stringMatching(/no worker file/) as string }],
  })
  const session = await troupe.sessions.create({ kind: 'greeter', input: 'Donald' })
  expect(await session.result()).toMatchObject({ value: 'good morning Donald' })
})

test('--chaos kills the node while it works, and says which work another node took up', async () => {
  const slow = `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineWorker } from 'troupe'
export default defineWorker({ async receive(message, self) {
  if (!existsSync('begun')) {
    writeFileSync('begun', '')
    await pause(60_000)
  }
  self.reply('done')
} })`
  const redisUrl = inject('redisUrl')
  const namespace = newNamespace()
  await using other = await Project.create(
    { 'workers/slow.ts': slow },
    { TROUPE_REDIS_URL: redisUrl, TROUPE_NAMESPACE: namespace },
  )
  await using client = await connect({ redisUrl, namespace })
  // The pause before the first kill is the shortest with this seed.
  const command = other.start(['dev', '--json', '--no-page', '--chaos', '35'])
  await command.saw('"type":"ready"', 'stdout')
  const session = await client.sessions.create({ kind: 'slow', input: 'x' })
  await command.saw(new RegExp(`"type":"killed".*"running":\\["${session.rootId}"`), 'stdout')
  // The lease of the node that was killed would last for 15 s.
  const redis = new Redis(redisUrl)
  await redis.zadd(partitionKeys(tagOf(namespace, 0)).leases, 'XX', 1, session.rootId)
  redis.disconnect()
  await command.saw(new RegExp(`"type":"takenUp","workerId":"${session.rootId}"`), 'stdout')
  expect(await session.result()).toMatchObject({ status: 'completed', value: 'done' })
  command.kill('SIGTERM')
  expect(await command.ended).toMatchObject({ code: 143 })
})

test('a signal ends troupe dev and its nodes', async () => {
  const nodes = await troupe.nodes()
  dev.kill('SIGINT')
  expect(await dev.ended).toMatchObject({ code: 130 })
  for (const { pid } of nodes) expect(() => process.kill(pid as number, 0)).toThrow('ESRCH')
})
