/** The folder that an agent may touch: the one that its kind names, by its real path, within the one that its permissions name. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { ContextContainer } from '../../../../src/core/history/context-container.ts'
import { say, scriptedModel } from '../../../../src/models/local/scripted-model.ts'
import { agentFolder } from '../../../../src/runtime/agent/agent-folder.ts'
import { assignmentByHand } from '../../support/held-store.ts'

let top: string
beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'agent-folder-')))
  mkdirSync(join(top, 'real', 'inner'), { recursive: true })
  mkdirSync(join(top, 'real', '..name'))
  mkdirSync(join(top, 'outside'))
  writeFileSync(join(top, 'real', 'file'), 'x')
  symlinkSync(join(top, 'real'), join(top, 'link'))
  symlinkSync(join(top, 'real', 'inner'), join(top, 'real', 'to-inner'))
  symlinkSync(join(top, 'outside'), join(top, 'real', 'to-outside'))
})
afterAll(() => rmSync(top, { recursive: true }))

/** Paths are relative to the test's own folder, except those with `./`. Undefined: the kind has no `folder`. Null: its `folder` returns null. */
async function folderOf(named: string | null | undefined, assigned?: string): Promise<string | null> {
  const at = (path: string) => (path.startsWith('./') ? path : join(top, path))
  const folder = named === undefined ? {} : { folder: () => (named === null ? null : at(named)) }
  const definition = defineWorker({ instructions: 'x', model: scriptedModel('test/m', [say('x')]), ...folder })
  const assignment = assignmentByHand(assigned === undefined ? {} : { permissions: { folder: at(assigned) } })
  const { sessionId, workerId, name, kind, parentId, depth } = assignment
  const container = new ContextContainer({ sessionId, workerId, name, kind, parentId, depth })
  const found = await agentFolder(definition, assignment, container)
  return found === null ? null : found.replace(`${top}/`, '')
}

test.each([
  [undefined, undefined, null],
  [null, undefined, null],
  [undefined, 'real', 'real'],
  ['real/inner', undefined, 'real/inner'],
  ['real', 'real', 'real'],
  ['real/inner', 'real', 'real/inner'],
  ['real/..name', 'real', 'real/..name'],
  // The folder as it is named, if that is within the assigned one by its name; else as the assigned folder calls it.
  ['real/to-inner', 'real', 'real/to-inner'],
  ['link/inner', 'link', 'link/inner'],
  ['real', 'link', 'link'],
  ['real/inner', 'link', 'link/inner'],
])('a kind that names %s, with permissions for %s, has the folder %s', async (named, assigned, found) => {
  expect(await folderOf(named, assigned)).toBe(found)
})

test.each([
  [null, 'real', 'asked for no folder in particular'],
  ['', 'real', 'which is not within it'],
  ['outside', 'real', 'which is not within it'],
  ['real/to-outside', 'real', 'which is not within it'],
])('a kind that names %s, with permissions for %s, is refused', async (named, assigned, message) => {
  await expect(folderOf(named, assigned)).rejects.toMatchObject({
    code: 'permission_exceeded',
    message: expect.stringContaining(message),
  })
})

test('a file, a missing path and a relative path are refused', async () => {
  await expect(folderOf('./src')).rejects.toMatchObject({
    code: 'input_invalid',
    message: expect.stringContaining('must be an absolute path'),
  })
  await expect(folderOf('real/file', 'real')).rejects.toMatchObject({
    code: 'input_invalid',
    message: expect.stringContaining('is not a folder'),
  })
  await expect(folderOf('real/none', 'real')).rejects.toMatchObject({
    code: 'input_invalid',
    message: expect.stringContaining('does not exist'),
  })
})
