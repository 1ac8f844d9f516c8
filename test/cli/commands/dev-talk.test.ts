/** The prompt of `troupe dev`. */
import { expect, test } from 'vitest'
import { DevTalk } from '../../../src/cli/commands/dev/talk.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { TypedTerminal } from '../terminal/typed-terminal.ts'

test('a line that is typed before Ctrl+D at the same moment begins its session before everything ends', async () => {
  const talker = defineWorker({ receive: (message, self) => self.reply(message.value) })
  await using troupe = await TestTroupe.start({ workers: { talker } })
  const terminal = new TypedTerminal()
  const ended = Promise.withResolvers<string[]>()
  await using talk = new DevTalk({
    troupe: troupe.client,
    kinds: () => [{ kind: 'talker' } as never],
    problems: () => [],
    onEnd: () => ended.resolve(terminal.screen.lines.filter((line) => line.startsWith('session '))),
    terminal: { stdin: terminal.stdin, stream: terminal.screen.stream },
  })
  talk.begin()
  terminal.type('hello\r\u0004')
  expect(await ended.promise).toHaveLength(1)
})
