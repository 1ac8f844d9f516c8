/** The command line and conversations of other programs: a file goes on here, and goes back. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Project } from '../../cli/command-line.ts'
import { newNamespace } from '../../support/namespace.ts'

const clerk = `import { defineWorker } from 'troupe'
export default defineWorker({ description: 'Answers.', instructions: 'Answer.', model: 'offline/rules' })`
const chat = {
  model: 'gpt-x',
  messages: [
    { role: 'user', content: 'What does a.txt say?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a.txt"}' } },
        { id: 'call_2', type: 'function', function: { name: 'read_file', arguments: '{"path":"b.txt"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'hello' },
  ],
}

let project: Project
beforeAll(async () => {
  const env = { TROUPE_REDIS_URL: inject('redisUrl'), TROUPE_NAMESPACE: newNamespace() }
  project = await Project.create({ 'workers/clerk.ts': clerk, 'chat.json': JSON.stringify(chat) }, env)
  await project.start(['node']).saw('is ready', 'stdout')
})
afterAll(() => project[Symbol.asyncDispose]())

describe('a conversation of another program', () => {
  it('a conversation of another program goes on in a new session, and can be exported again', async () => {
    const made = await project.ask([
      'session',
      'import',
      'chat.json',
      '--kind',
      'clerk',
      '--json',
      '--send',
      'And now?',
    ])
    expect(made).toMatchObject({ code: 0, objects: [{ type: 'imported', format: 'openai-chat', messages: 4 }] })
    expect(made.stderr).toContain('calls without a result got one that says so: 1.')
    const sessionId = String(made.objects[0]?.sessionId)
    await project.ask(['session', 'result', sessionId, '--run', '1', '--wait'])
    const exported = await project.ask(['session', 'export', sessionId, '--format', 'openai-chat'])
    expect(exported.code).toBe(0)
    const { messages } = JSON.parse(exported.stdout) as typeof chat
    expect(messages.slice(0, 3)).toEqual(chat.messages)
    expect(messages.slice(3)).toMatchObject([
      { role: 'tool', tool_call_id: 'call_2' },
      { role: 'user', content: 'And now?' },
      { role: 'assistant', content: expect.stringContaining('offline') as string },
    ])
    expect(exported.stderr).toMatch(/timestamps of messages \(2 times\): left out\./)
    const own = await project.ask(['session', 'export', sessionId, '--output', 'own.jsonl', '--json'])
    expect(own).toMatchObject({ code: 0, objects: [{ type: 'exported', format: 'troupe', messages: 6, warnings: [] }] })
    const again = await project.ask(['session', 'import', 'own.jsonl', '--kind', 'clerk', '--json'])
    const back = await project.ask(['session', 'export', String(again.objects[0]?.sessionId)])
    const lines = (text: string) => text.trim().split('\n').slice(1)
    expect(lines(back.stdout)).toEqual(lines(await readFile(join(project.folder, 'own.jsonl'), 'utf8')))
  })

  it('a conversation that is refused because a message cannot be cut enough does not say that it was cut', async () => {
    const call = (number: number) => ({ id: `c${number}`, type: 'function', function: { name: 'f', arguments: '{}' } })
    const calls = Array.from({ length: 20_000 }, (_, number) => call(number))
    await project.write('wide.json', JSON.stringify([{ role: 'assistant', content: null, tool_calls: calls }]))
    const { code, stderr } = await project.ask(['session', 'import', 'wide.json', '--kind', 'clerk'])
    expect([code, stderr.trim()]).toEqual([
      1,
      expect.stringMatching(/^troupe: message 0 of the history has .* leave it out\.$/),
    ])
  })

  it('a conversation of another program that cannot be read is refused with its place, before Redis is asked', async () => {
    await project.write('odd.json', JSON.stringify([{ role: 'user', content: 'hi' }, { role: 'tool' }, { role: 5 }]))
    const away = ['--kind', 'clerk', '--redis-url', 'redis://127.0.0.1:1']
    const refused = async (...args: string[]) => {
      const { code, stderr } = await project.ask(['session', 'import', ...args, ...away])
      return [code, stderr.trim()]
    }
    expect(await refused('odd.json', '--format', 'flat')).toEqual([2, 'troupe: [2].role must be a text, not 5.'])
    expect(await refused('none.json')).toEqual([2, 'troupe: the file none.json cannot be read: there is no such file.'])
    expect((await refused('odd.json', '--format', 'flatt'))[1]).toContain('Did you mean flat?')
    expect((await refused('workers/clerk.ts'))[1]).toContain('the conversation is not JSON')
  })

  it('a conversation goes to a database of Amazon Q, and comes back from there by its folder', async () => {
    const made = await project.ask(['session', 'import', 'chat.json', '--kind', 'clerk', '--json'])
    const id = String(made.objects[0]?.sessionId)
    const write = (...more: string[]) =>
      project.ask(['session', 'export', id, '--format', 'amazon-q-row', '--output', 'q.sqlite3', ...more])
    expect(await write('--folder', '/srv/one')).toMatchObject({ code: 0, stdout: '4 messages in q.sqlite3\n' })
    expect((await write('--folder', '/srv/two')).code).toBe(0)
    expect((await write('--folder', '/srv/two')).stderr).toContain(
      'has a conversation of the folder /srv/two; add --force',
    )
    const from = (...more: string[]) =>
      project.ask(['session', 'import', 'q.sqlite3', '--kind', 'clerk', '--json', ...more])
    expect((await from()).stderr).toContain(
      'holds 2 conversations. Name one of these (--conversation): /srv/one, /srv/two.',
    )
    const read = await from('--conversation', '/srv/two')
    expect(read).toMatchObject({ code: 0, objects: [{ format: 'amazon-q-row', messages: 4 }] })
    expect(read.stderr).not.toContain('Warning')
  })

  it('an exported conversation is not written over a file, and a worker without a conversation says so', async () => {
    const made = await project.ask(['session', 'import', 'chat.json', '--kind', 'clerk', '--json'])
    const id = String(made.objects[0]?.sessionId)
    expect(await project.ask(['session', 'export', id, '--output', 'chat.json'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it exists; add --force') as string,
    })
    const empty = await project.ask(['submit', 'later', 'hi', '--json'])
    expect(await project.ask(['session', 'export', String(empty.objects[0]?.sessionId)])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no conversation') as string,
    })
  })
})
