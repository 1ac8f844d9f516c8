/** A prompt at a stream that somebody has read to its end before, and at a terminal that holds what was typed before. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { MessagePrompt } from '../../../src/cli/terminal/message-prompt.ts'
import { TypedTerminal } from './typed-terminal.ts'

test.each([
  ['a pipe', false],
  ['a terminal', true],
])('the end of %s that was read before is the end of the messages (TYPED-3)', async (_, isTTY) => {
  const stdin = Object.assign(Readable.from(['the first message\n']), { isTTY })
  for await (const _chunk of stdin);
  using prompt = new MessagePrompt(stdin as unknown as NodeJS.ReadStream, process.stderr)
  expect(await prompt.next(new AbortController().signal)).toEqual({ kind: 'end' })
})

test('a line that was typed before a question was shown is no answer to it, also if nobody has read it', async () => {
  const held = ['y\r', 'yes\r']
  // Like a terminal, it hands over what it holds a moment after somebody asks for it.
  const stdin = new Readable({
    read() {
      const line = held.shift()
      if (line !== undefined) setImmediate(() => this.push(line))
    },
  })
  const terminal = Object.assign(stdin, { isTTY: true, setRawMode: () => stdin }) as unknown as NodeJS.ReadStream
  using prompt = new MessagePrompt(terminal, new TypedTerminal().screen.stream)
  await prompt.forgetTyped()
  const typed = prompt.next(new AbortController().signal)
  // What is held still would come before this.
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  stdin.push('n\r')
  expect(await typed).toEqual({ kind: 'line', text: 'n' })
})
