/** A prompt at a stream that somebody has read to its end before. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { MessagePrompt } from '../../../src/cli/terminal/message-prompt.ts'

test.each([
  ['a pipe', false],
  ['a terminal', true],
])('the end of %s that was read before is the end of the messages (TYPED-3)', async (_, isTTY) => {
  const stdin = Object.assign(Readable.from(['the first message\n']), { isTTY })
  for await (const _chunk of stdin);
  using prompt = new MessagePrompt(stdin as unknown as NodeJS.ReadStream, process.stderr)
  expect(await prompt.next(new AbortController().signal)).toEqual({ kind: 'end' })
})
