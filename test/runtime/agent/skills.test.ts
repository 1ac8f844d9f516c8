/** Skills: the model is told of their names and descriptions, and reads their texts when it needs them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { ConfigError } from '../../../src/core/errors.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { kindSkills } from '../../../src/runtime/agent/context/kind-skills.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

async function folderWith(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-skills-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}

const refunds = { name: 'refunds', description: 'How to pay money back.', text: 'Pay it back at once.' }

test('a context has a system prompt, skills by name and description, and a history; the model reads a skill with read_skill [0.12]', async () => {
  await using files = await folderWith({
    'letters.md': '---\ndescription: "How to write letters."\n---\nBegin politely.\n',
  })
  const model = recordedModel('test/m', [
    call('read_skill', { name: 'letters' }),
    call('read_skill', { name: 'x' }),
    say('done'),
  ])
  const skills = [refunds, { file: pathToFileURL(join(files.folder, 'letters.md')) }]
  const agent = defineWorker({ instructions: 'Be kind.', model, skills })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'go', { permissions: { tools: [] } })
  expect(await session.result()).toMatchObject({ status: 'completed' })
  const [first, , third] = model.requests
  expect(first?.instructions).toBe(
    'Be kind.\n\nYou have skills. Before you do what one of them is for, read it with read_skill:\n- refunds: How to pay money back.\n- letters: How to write letters.',
  )
  expect(first?.tools.map(({ name }) => name)).toEqual(['read_skill'])
  expect(third?.instructions).toBe(first?.instructions)
  const results = (await troupe.history(session.rootId)).filter((entry) => entry.type === 'toolResult')
  expect(results.map(({ status }) => status)).toEqual(['ok', 'error'])
  expect(results[0]?.output.value).toBe('Begin politely.')
})

test.each([
  [{ skills: 'x' }, /skills must be a list/],
  [{ skills: [{ name: 'a' }] }, /give \{ name, description, text \}, or \{ file \}/],
  [{ skills: [{ ...refunds, name: 'a b' }] }, /is no name of a skill/],
  [{ skills: [{ ...refunds, description: 'a\nb' }] }, /needs a description of one line/],
  [{ skills: [{ ...refunds, text: ' ' }] }, /has no text/],
  [{ skills: [refunds, refunds] }, /two skills have the name "refunds"/],
])('a definition with the skills %o is refused', (more, message) => {
  expect(() => defineWorker({ instructions: 'x', ...(more as object) })).toThrow(ConfigError)
  expect(() => defineWorker({ instructions: 'x', ...(more as object) })).toThrow(message)
})

test.each([
  ['no front', 'text', /is no skill: it must begin with ---/],
  ['no description', '---\nname: a\n---\ntext', /needs a description/],
  ['no text', '---\nname: a\ndescription: b\n---\n', /has no text/],
  ['a bad name', '---\nname: a b\ndescription: b\n---\nc', /is no name of a skill/],
])('a skill file with %s is refused by its path', async (_what, text, message) => {
  await using files = await folderWith({ 'bad.md': text })
  expect(() => kindSkills([{ file: join(files.folder, 'bad.md') }])).toThrow(message)
})

test('a skill file that is not there is refused when the kind is opened', () => {
  expect(() => kindSkills([{ file: '/nowhere/skill.md' }])).toThrow(/the file of a skill cannot be read/)
})

test('a skill file may have Windows line ends and more fields', async () => {
  const text = "---\r\nname: 'a'\r\nversion: 2\r\ndescription: b: c\r\n---\r\nOne.\r\nTwo."
  await using files = await folderWith({ 'x.md': text })
  expect(kindSkills([{ file: join(files.folder, 'x.md') }])?.prompt).toMatch(/- a: b: c$/)
})
