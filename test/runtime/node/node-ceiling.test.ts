/** What a node permits no request can raise, and folders of the system are never a worker's. */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { checkPermissions, type Permissions } from '../../../src/core/worker/permissions.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { openWorkspace } from '../../../src/runtime/tool/workspace.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

async function folders() {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'ceiling-')))
  onTestFinished(() => rm(base, { recursive: true }))
  const [inside, outside] = [join(base, 'inside'), join(base, 'outside')]
  await mkdir(join(inside, 'deep'), { recursive: true })
  await mkdir(outside)
  await writeFile(join(inside, 'a.txt'), 'a')
  await writeFile(join(outside, 'a.txt'), 'secret')
  await symlink(outside, join(inside, 'link'))
  return { base, inside, outside }
}

const resolveIt = defineTool({
  name: 'look',
  description: 'x',
  effect: 'pure',
  run: (_, { workspace }) => workspace?.root ?? 'no folder',
})

/** The folder that an agent gets which names the folder of its input, under a node with this ceiling and a session with these permissions. */
async function looked(ceiling: Permissions, input: string | null, permissions: Permissions) {
  const model = recordedModel('test/m', [call('look'), say('done')])
  const agent = defineWorker({
    instructions: 'x',
    model,
    tools: [resolveIt],
    folder: (given) => (given as string) || null,
  })
  await using troupe = await TestTroupe.start({ workers: { agent }, permissions: ceiling })
  const session = await troupe.create('agent', input, { permissions })
  const result = await session.result()
  if (result.status === 'failed') return result.failure.code
  const [entry] = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
  return entry?.type === 'toolResult' ? entry.output.value : undefined
}

test('a folder of a node bounds the folders of its kinds and sessions, by text, by link or not at all', async () => {
  const { inside, outside, base } = await folders()
  const node = { folder: inside }
  expect(await looked(node, inside, {})).toBe(inside)
  expect(await looked(node, join(inside, 'deep'), { folder: inside })).toBe(join(inside, 'deep'))
  for (const folder of ['/etc', outside, base, join(inside, 'link'), `${inside}/../outside`, '/'])
    for (const permissions of [{}, { folder }])
      expect(await looked(node, folder, permissions)).toBe('permission_exceeded')
})

test('tools that a node does not permit are not offered, whatever the session permits', async () => {
  const model = recordedModel('test/m', [call('look'), say('done')])
  const agent = defineWorker({ instructions: 'x', model, tools: [resolveIt] })
  await using troupe = await TestTroupe.start({ workers: { agent }, permissions: { tools: ['other'] } })
  expect(await troupe.run('agent', 'go', { permissions: { tools: ['look', 'other'] } })).toMatchObject({
    value: { text: 'done' },
  })
  expect(model.requests[0]?.tools).toEqual([])
})

test('a node may keep all messages of its workers within their sessions, also those of handlers', async () => {
  const asker = defineWorker({ receive: (message, self) => self.send(message.value as string, 'hi') })
  await using troupe = await TestTroupe.start({ workers: { asker }, permissions: { send: 'session' } })
  const other = await troupe.create('asker', null, { keepOpen: true })
  expect(await troupe.run('asker', other.rootId)).toMatchObject({ failure: { code: 'permission_exceeded' } })
})

test.each([
  [{ folder: 'relative' }, /absolute path/],
  [{ folders: ['/srv'] }, /is no restriction/],
  [{ send: ['0199f3a2-5c1e-8b04-9d68-3e0f7a21c000'] }, /not a list/],
  [{ folder: '/proc' }, /no worker may use/],
] as [Permissions, RegExp][])('a node does not start with the permissions %j', async (permissions, why) => {
  await using troupe = await TestTroupe.connect()
  const workers = { echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) }
  const { redisUrl, namespace } = troupe
  await expect(startNode({ redisUrl, namespace, workers, permissions })).rejects.toThrow(why)
})

test.each(['/proc', '/proc/self', '/sys/kernel', '/dev', '/dev/shm', '//proc', '/srv/../proc/1', '/./dev'])(
  'no session may use the folder %s',
  (folder) => {
    expect(() => checkPermissions({ folder })).toThrow(/no worker may use/)
  },
)

test('no link and no folder above leads into folders of the system', async () => {
  const { inside } = await folders()
  await symlink('/proc/self', join(inside, 'process'))
  await expect(openWorkspace(join(inside, 'process'))).rejects.toThrow(/belongs to the system/)
  const all = await openWorkspace('/')
  await expect(all.resolve('proc/self/environ')).rejects.toThrow(/belongs to the system/)
  await expect(all.resolve('/dev/zero')).rejects.toThrow(/belongs to the system/)
})
