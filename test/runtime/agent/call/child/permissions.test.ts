/** Permissions (I13): no worker of a session regains what the session forbids, and no child or grandchild what a parent forbids. */
import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../../../src/core/definition/model.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import type { Json } from '../../../../../src/core/history/chat/chat-message.ts'
import { call, type ScriptedReply, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../../../../src/store/keys.ts'
import { type RecordedModel, recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'

const ran: string[] = []
const tool = (name: string) =>
  defineTool({ name, description: 'A tool.', effect: 'pure', run: () => void ran.push(name) })
/** A tool that returns the folder that it may touch. */
const where = defineTool({
  name: 'where',
  description: 'Its folder.',
  effect: 'pure',
  run: (_, { workspace }) => workspace?.root ?? 'nowhere',
})

const spawn = (kind: string, more: Record<string, Json> = {}) =>
  call('spawn_workers', { tasks: [{ kind, input: 'go', ...more }] })

/** Gives these replies in order in each run. */
function inTurn(...replies: readonly ScriptedReply[]) {
  return ({ messages }: ModelRequest) => {
    const from = messages.findLastIndex(({ role }) => role === 'user')
    const made = messages.slice(from).filter(({ role }) => role === 'assistant').length
    return replies[made] ?? say('done')
  }
}

const toolsOf = ({ requests }: RecordedModel) => [
  ...new Set(requests.map(({ tools }) => tools.map(({ name }) => name).join(' '))),
]

/** The results that the model saw for the calls of its last reply. */
function told({ requests }: RecordedModel, request = -1): unknown[] {
  const last = requests.at(request)?.messages.at(-1)
  return last?.role === 'tool' ? last.results.map(({ output }) => output.value) : []
}

/** A root, its child and its grandchild, of kinds with tools a and b. Each calls both, and asks for both for its child. */
function parentWithChildren() {
  const both = { tools: ['a', 'b'] }
  const ask = together(call('a'), call('b'))
  const models = {
    top: recordedModel('test/top', inTurn(together(ask, spawn('middle', both)))),
    middle: recordedModel('test/middle', inTurn(together(ask, spawn('low', both)))),
    low: recordedModel('test/low', inTurn(ask)),
  }
  const tools = [tool('a'), tool('b')]
  const workers = {
    top: defineWorker({ instructions: 'x', model: models.top, tools, spawns: ['middle'] }),
    middle: defineWorker({ instructions: 'x', model: models.middle, tools, spawns: ['low'] }),
    low: defineWorker({ instructions: 'x', model: models.low, tools }),
  }
  return { models, workers }
}

describe('tools', () => {
  test('tools that a session does not permit are hidden and refused, for its root, a child and a grandchild', async () => {
    const { models, workers } = parentWithChildren()
    await using troupe = await TestTroupe.start({ workers })
    ran.length = 0
    const session = await troupe.create('top', 'go', { permissions: { tools: ['a'] } })
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual(['a', 'a', 'a'])
    for (const model of [models.top, models.middle]) {
      expect(toolsOf(model)).toEqual(['a spawn_workers send_message'])
      expect(told(model)[1]).toBe("Error: unknown tool 'b'. Available: a, spawn_workers, send_message")
    }
    expect(toolsOf(models.low)).toEqual(['a'])
    expect(told(models.low)[1]).toBe("Error: unknown tool 'b'. Available: a")
    const { workers: reports } = await session.report()
    expect(reports.map(({ kind, permissions }) => [kind, permissions])).toEqual([
      ['top', { tools: ['a'] }],
      ['middle', { tools: ['a'] }],
      ['low', { tools: ['a'] }],
    ])
  })

  test('tools that a task does not name stay forbidden after a restart', async () => {
    const { models, workers } = parentWithChildren()
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode(workers)
    const session = await troupe.create('low', 'go', { permissions: { tools: ['a'] }, keepOpen: true })
    await session.result({ run: 1 })
    await node.stop()
    await troupe.startNode(workers)
    await session.root.send('again')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
    expect(toolsOf(models.low)).toEqual(['a'])
    expect(told(models.low)[1]).toBe("Error: unknown tool 'b'. Available: a")
  })

  test('tools that a task does not name are forbidden to the child and its children', async () => {
    const { models, workers } = parentWithChildren()
    const root = recordedModel('test/root', inTurn(spawn('middle', { tools: ['b'] })))
    await using troupe = await TestTroupe.start({
      workers: { ...workers, root: defineWorker({ instructions: 'x', model: root, spawns: ['middle'] }) },
    })
    const session = await troupe.create('root', 'go')
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(toolsOf(models.middle)).toEqual(['b spawn_workers send_message'])
    expect(toolsOf(models.low)).toEqual(['b'])
    const { workers: reports } = await session.report()
    expect(reports.map(({ permissions }) => permissions)).toEqual([null, { tools: ['b'] }, { tools: ['b'] }])
  })

  test('tools must be names: a task with other values is refused with the reason', async () => {
    const { workers } = parentWithChildren()
    const root = recordedModel('test/root', inTurn(spawn('low', { tools: ['a\nfolder /'] })))
    await using troupe = await TestTroupe.start({
      workers: { ...workers, root: defineWorker({ instructions: 'x', model: root, spawns: ['low'] }) },
    })
    expect(await troupe.run('root', 'go')).toMatchObject({ status: 'completed' })
    expect(told(root)).toEqual([expect.stringContaining('tasks.0.tools.0: is not the name of a tool')])
  })
})

describe('folders', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'permissions-'))
    await mkdir(join(folder, 'inner', 'most'), { recursive: true })
    await mkdir(join(folder, 'beside'))
    await symlink(join(folder, 'inner'), join(folder, 'link'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('folders that are replaced by a link in the middle of a turn are refused', async () => {
    const swapped = join(folder, 'swapped')
    await mkdir(swapped)
    const swap = defineTool({
      name: 'swap',
      description: 'Puts a link in place of its folder.',
      effect: 'pure',
      async run() {
        await rm(swapped, { recursive: true })
        await symlink(tmpdir(), swapped)
        return 'swapped'
      },
    })
    const model = recordedModel('test/one', inTurn(call('where'), call('swap'), call('where')))
    const tools = [where, swap]
    const one = defineWorker({ instructions: 'x', model, tools, folder: () => swapped })
    await using troupe = await TestTroupe.start({ workers: { one } })
    const session = await troupe.create('one', 'go', { permissions: { folder } })
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(told(model, 1)).toEqual([await realpath(folder).then((real) => join(real, 'swapped'))])
    expect(told(model, 3)).toEqual([
      expect.stringMatching(/^Error: the worker's folder .* leads out of the folder that its permissions name\.$/),
    ])
  })

  const lines = (kind: string, named: (() => string) | undefined, model: RecordedModel, spawns?: string[]) => ({
    [kind]: defineWorker({
      instructions: 'x',
      model,
      tools: [where],
      ...(named && { folder: named }),
      ...(spawns && { spawns }),
    }),
  })

  test('a child and a grandchild have the folder of their parent, even if the session permits a folder above it', async () => {
    const models = ['top', 'middle', 'low'].map((id) => recordedModel(`test/${id}`, () => say('x')))
    models[0] = recordedModel('test/top', inTurn(together(call('where'), spawn('middle'))))
    models[1] = recordedModel('test/middle', inTurn(together(call('where'), spawn('low'))))
    models[2] = recordedModel('test/low', inTurn(call('where')))
    const [top, middle, low] = models as [RecordedModel, RecordedModel, RecordedModel]
    await using troupe = await TestTroupe.start({
      workers: {
        ...lines('top', () => join(folder, 'inner'), top, ['middle']),
        ...lines('middle', undefined, middle, ['low']),
        ...lines('low', () => join(folder, 'inner', 'most'), low),
      },
    })
    const session = await troupe.create('top', 'go', { permissions: { folder } })
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect([told(top)[0], told(middle)[0], told(low)[0]]).toEqual([
      join(folder, 'inner'),
      join(folder, 'inner'),
      join(folder, 'inner', 'most'),
    ])
    const { workers } = await session.report()
    expect(workers.map(({ permissions }) => permissions?.folder)).toEqual([
      folder,
      join(folder, 'inner'),
      join(folder, 'inner'),
    ])
  })

  test('a child that asks for a folder outside is refused', async () => {
    const top = recordedModel('test/top', inTurn(spawn('low')))
    const low = recordedModel('test/low', inTurn(call('where')))
    await using troupe = await TestTroupe.start({
      workers: {
        ...lines('top', () => join(folder, 'inner'), top, ['low']),
        ...lines('low', () => join(folder, 'beside'), low),
      },
    })
    expect(await troupe.run('top', 'go')).toMatchObject({ status: 'completed' })
    expect(told(top)).toMatchObject([[{ status: 'failed', failure: { code: 'permission_exceeded' } }]])
    expect(low.requests).toEqual([])
  })

  test('a folder that lies within the permitted one only through a link may be passed to children', async () => {
    const top = recordedModel('test/top', inTurn(spawn('low')))
    const low = recordedModel('test/low', inTurn(call('where')))
    await using troupe = await TestTroupe.start({
      workers: {
        ...lines('top', () => join(folder, 'inner', 'most'), top, ['low']),
        ...lines('low', undefined, low),
      },
    })
    const session = await troupe.create('top', 'go', { permissions: { folder: join(folder, 'link') } })
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(told(top)).toMatchObject([[{ status: 'completed' }]])
    expect(told(low)).toEqual([join(folder, 'inner', 'most')])
  })
})

describe('handlers', () => {
  const parent = defineWorker({
    receive(message, self) {
      if (message.kind === 'result') self.reply(message.value)
      else self.spawn(String(message.value), null)
    },
  })

  test('handlers pass their own permissions to their children', async () => {
    const { models, workers } = parentWithChildren()
    await using troupe = await TestTroupe.start({ workers: { ...workers, parent } })
    const session = await troupe.create('parent', 'low', { permissions: { tools: ['a'], kinds: ['low'] } })
    expect(await session.result()).toMatchObject({ status: 'completed' })
    expect(toolsOf(models.low)).toEqual(['a'])
    const { workers: reports } = await session.report()
    expect(reports[1]).toMatchObject({ kind: 'low', permissions: { tools: ['a'], kinds: ['low'] } })
  })

  test('handlers may not spawn a kind that their permissions do not name', async () => {
    const { workers } = parentWithChildren()
    await using troupe = await TestTroupe.start({ workers: { ...workers, parent } })
    const result = await troupe.run('parent', 'low', { permissions: { kinds: ['top', 'middle'] } })
    expect(result).toMatchObject({
      status: 'failed',
      failure: { code: 'permission_exceeded', message: expect.stringMatching(/may not spawn "low".*top, middle/) },
    })
  })
})

test('a worker with damaged permissions may use nothing', async () => {
  const { models, workers } = parentWithChildren()
  const parent = defineWorker({ receive: (_, self) => void self.spawn('low', null) })
  await using troupe = await TestTroupe.connect()
  const agent = await troupe.create('top', 'go', { permissions: { tools: ['a'] } })
  const handler = await troupe.create('parent', 'go', { permissions: { kinds: ['low'] } })
  for (const { rootId } of [agent, handler])
    await troupe.redis.hset(workerKeys(troupe.tag, rootId).record, 'permissions', 'nonsense')
  await troupe.startNode({ ...workers, parent })
  await agent.result()
  expect(toolsOf(models.top)).toEqual([''])
  expect(await handler.result()).toMatchObject({
    status: 'failed',
    failure: { code: 'permission_exceeded', message: expect.stringMatching(/may not spawn "low".*nothing/) },
  })
})

test('a session with invalid permissions is refused', async () => {
  await using troupe = await TestTroupe.connect()
  for (const permissions of [{ tools: ['a b'] }, { folder: 'relative' }, { tool: ['a'] }]) {
    const error = await troupe.create('low', 'go', { permissions }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'input_invalid' })
  }
})
