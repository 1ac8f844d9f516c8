/** A prompt at a stream that somebody has read to its end before, and at a terminal that holds what was typed before. */
import { Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
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

/** A terminal that holds these lines: it hands over each of them a moment after somebody asks for the next one. */
function holding(held: string[]) {
  const stdin = new Readable({
    read() {
      setTimeout(() => {
        const line = held.shift()
        if (line !== undefined) this.push(line)
      }, 20)
    },
  })
  const terminal = Object.assign(stdin, { isTTY: true, setRawMode: () => stdin }) as unknown as NodeJS.ReadStream
  return { stdin, prompt: new MessagePrompt(terminal, new TypedTerminal().screen.stream) }
}

test('lines that were typed before a question was shown are no answer to it, also if nobody has read them', async () => {
  const held = ['y\r', 'yes\r', 'yes\r']
  const { stdin, prompt } = holding(held)
  using _ = prompt
  await prompt.forgetTyped()
  expect(held).toEqual([])
  const typed = prompt.next(new AbortController().signal)
  // What is held still would come before this.
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  stdin.push('n\r')
  expect(await typed).toEqual({ kind: 'line', text: 'n' })
})

test('Ctrl+C that was typed before a question was shown interrupts the command all the same', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const { prompt } = holding(['y\r', '\u0003'])
  using _ = prompt
  await prompt.forgetTyped()
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGINT']])
})
