/** What a person types in a conversation at the terminal beside messages (TYPED-COMMANDS-1, TYPED-COMMANDS-2). */
import { describe, expect, test } from 'vitest'
import { chatted } from '../../../src/cli/commands/talk/chat-commands.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitIdle } from '../../support/time/await-session.ts'
import { plainPage } from '../view/plain-page.ts'

const place = { page: plainPage(), signal: new AbortController().signal }

describe('a typed line', () => {
  test.each([
    ['hello', 'hello'],
    ['/etc/hosts is empty', '/etc/hosts is empty'],
    ['a /status', 'a /status'],
    ['//status', '/status'],
    ['  //status of what?', '  /status of what?'],
    ['/', '/'],
    ['/ status', '/ status'],
    ['{"a":1}', '{"a":1}'],
  ])('%j is the message %j', async (typed, text) => {
    expect(await chatted(typed, undefined, place)).toEqual({ kind: 'message', text })
  })

  test.each(['/quit', '/q', ' /quit '])('%j closes the conversation', async (typed) => {
    expect(await chatted(typed, undefined, place)).toEqual({ kind: 'quit' })
  })

  test.each(['/stauts', '/constructor', '/Status', '/help me'])('%j is no message', async (typed) => {
    expect((await chatted(typed, undefined, place)).kind).toBe('said')
  })

  test('an unknown word is answered with the words that exist, and the nearest one', async () => {
    expect(await chatted('/stauts now', undefined, place)).toEqual({
      kind: 'said',
      lines: [
        'troupe: there is no command /stauts; there are /cancel, /clear, /compact, /context, /help, /interrupt, /quit, /status, /steer, /tree, /usage, /workers. A message may begin with two slashes. Did you mean status?',
      ],
    })
  })

  test('a command typed before the first message has nothing to show', async () => {
    expect(await chatted('/usage', undefined, place)).toMatchObject({
      lines: [expect.stringContaining('the session begins with your first message')],
    })
  })
})

test('/status, /usage, /context and /workers show how the conversation stands, and change nothing [1.29]', async () => {
  const model = scriptedModel('test/m', [{ ...say('fine'), usage: { inputTokens: 1_200, outputTokens: 30 } }])
  await using troupe = await TestTroupe.start({ workers: { clerk: defineWorker({ instructions: 'x', model }) } })
  const session = await troupe.create('clerk', 'how are you?', { keepOpen: true })
  await session.result({ run: 1 })
  const before = await session.root.history()
  const text = async (typed: string) => {
    const said = await chatted(typed, session, place)
    return said.kind === 'said' ? said.lines.join('\n') : said.kind
  }
  expect(await text('/usage')).toBe('1 model call; 1.2k tokens in, 30 out')
  expect(await text('/context')).toMatch(/^messages +2\nsize +about 1.2k tokens$/)
  expect(await text('/status')).toMatch(/^session +\S+\nkind +clerk\nstate +active\nmode +conversation\n/)
  expect(await text('/workers')).toMatch(/WORKER.*\n.*clerk +done/)
  expect(await text('/workers all')).toContain('takes nothing behind it')
  expect(await text('/help')).toMatch(
    /^\/interrupt <message> .*\n\/steer <message> .*\n\/cancel .*\n\/clear .*\n\/compact \[text\] .*\n\/context .*\n\/status .*\n\/tree .*\n\/usage .*\n\/workers .*\n\/quit /,
  )
  expect(await session.root.history()).toEqual(before)
})

test('/help fits a narrow terminal: what a command does goes on below itself', async () => {
  const said = await chatted('/help', undefined, { ...place, page: plainPage(60) })
  const lines = said.kind === 'said' ? said.lines : []
  expect(lines.filter((line) => line.length > 60)).toEqual([])
  expect(lines.slice(0, 2)).toEqual([
    '/interrupt <message>  the message ends what the run in',
    '                      progress does, and comes into that run',
  ])
})

test('/compact has a summary written that follows what the person types behind it [1.29]', async () => {
  const asked: string[] = []
  const model = scriptedModel('test/m', (request) => {
    const text = JSON.stringify(request)
    asked.push(text)
    return say(text.includes('Keep all prices') ? 'A lamp costs 4.' : 'fine')
  })
  await using troupe = await TestTroupe.start({ workers: { clerk: defineWorker({ instructions: 'x', model }) } })
  const session = await troupe.create('clerk', 'what does a lamp cost?', { keepOpen: true })
  await session.result({ run: 1 })
  for (let run = 2; run <= 6; run++) {
    await session.root.send(`and ${run} lamps? ${'please '.repeat(200)}`)
    await session.result({ run })
  }
  const said = await chatted('/compact Keep all prices.', session, place)
  expect(said).toMatchObject({ kind: 'said', lines: [expect.stringMatching(/^a summary stands for \d+ messages of/)] })
  expect(asked.at(-1)).toContain('Keep all prices.')
  const context = await chatted('/context', session, place)
  expect(context).toMatchObject({ lines: expect.arrayContaining([expect.stringMatching(/^compacted +\d{4}-/)]) })
})

test('/clear lets the model forget the whole conversation [4.12]', async () => {
  const model = scriptedModel('test/m', ({ messages }) => say(`${messages.length}`))
  await using troupe = await TestTroupe.start({ workers: { clerk: defineWorker({ instructions: 'x', model }) } })
  const session = await troupe.create('clerk', 'one', { keepOpen: true })
  await awaitIdle(session)
  const said = await chatted('/clear', session, place)
  expect(said).toEqual({ kind: 'said', lines: ['troupe: the model has forgotten the conversation'] })
  await session.root.send('two')
  expect(await session.result({ run: 2 })).toMatchObject({ value: { text: '1' } })
})

test('a command that cannot be answered says why, and the conversation goes on', async () => {
  const handler = defineWorker({ receive: (_, self) => self.reply(1) })
  await using troupe = await TestTroupe.start({ workers: { handler } })
  const session = await troupe.create('handler', 1, { keepOpen: true })
  await session.result({ run: 1 })
  expect(await chatted('/context', session, place)).toMatchObject({
    kind: 'said',
    lines: [expect.stringMatching(/^troupe: worker \S+ of kind handler has no conversation/)],
  })
})
