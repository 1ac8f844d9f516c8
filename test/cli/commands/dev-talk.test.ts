/** The prompt of `troupe dev`. */
import { expect, test } from 'vitest'
import { DevReport } from '../../../src/cli/commands/dev/dev-report.ts'
import { DevTalk } from '../../../src/cli/commands/dev/talk.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { TypedTerminal } from '../terminal/typed-terminal.ts'
import { plainPage } from '../view/plain-page.ts'
import { began } from './node-change.ts'

const talker = defineWorker({ receive: (message, self) => self.reply(message.value) })

async function talk(kinds: string[]) {
  const troupe = await TestTroupe.start({ workers: { talker } })
  const terminal = new TypedTerminal(100)
  const ended = Promise.withResolvers<string[]>()
  const talk = new DevTalk({
    troupe: troupe.client,
    kinds: () => kinds.map((kind) => ({ kind }) as never),
    problems: () => [],
    onEnd: () => ended.resolve(terminal.screen.lines.filter((line) => line.startsWith('session '))),
    terminal: { stdin: terminal.stdin, stream: terminal.screen.stream },
  })
  const past: string[] = []
  const report = new DevReport(false, plainPage(), (line) => void past.push(line))
  const stack = new AsyncDisposableStack()
  stack.use(troupe)
  stack.use(talk)
  const speaking = stack.use(report.through(talk))
  talk.begin()
  /** The result of the first run. */
  const heard = async () => {
    const { id } = await waitUntil('a session', async () => (await troupe.client.sessions.list())[0])
    return troupe.client.sessions.get(id).result()
  }
  return {
    terminal,
    report,
    past,
    speaking,
    heard,
    ended: ended.promise,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('a line that is typed before Ctrl+D at the same moment begins its session before everything ends', async () => {
  await using dev = await talk(['talker'])
  dev.terminal.type('hello\r\u0004')
  expect(await dev.ended).toHaveLength(1)
})

test('a kind that comes after the start, and is alone, is at the prompt and takes the next line', async () => {
  const kinds: string[] = []
  await using dev = await talk(kinds)
  await dev.terminal.shows('kind?> ')
  kinds.push('talker')
  dev.report.changed(began('talker'))
  await dev.terminal.shows('talker> ')
  dev.terminal.type('good day\r')
  expect(await dev.heard()).toMatchObject({ value: 'good day' })
})

test('what is reported stands above the prompt while a person talks, and is written as it was before when the talk is over', async () => {
  await using dev = await talk(['talker'])
  dev.report.tell('something happened')
  await dev.terminal.shows('something happened', 'talker> ')
  dev.speaking[Symbol.dispose]()
  dev.report.tell('it is over')
  expect(dev.past).toEqual(['it is over'])
})

test.each(['talker hello', 'hello'])('with one kind, %j is the message "hello"', async (line) => {
  await using dev = await talk(['talker'])
  dev.terminal.type(`${line}\r`)
  expect(await dev.heard()).toMatchObject({ value: 'hello' })
})

test('a message for a kind that runs no more says so', async () => {
  const kinds = ['talker']
  await using dev = await talk(kinds)
  dev.terminal.type('hello\r')
  expect(await dev.heard()).toMatchObject({ value: 'hello' })
  kinds[0] = 'speaker'
  dev.terminal.type('again\r')
  await dev.terminal.showsLine(/no kind "talker" runs now, and the message waits for one; there are: speaker\./)
})
