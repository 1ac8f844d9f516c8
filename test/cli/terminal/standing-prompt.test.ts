/** A line that a person may type at any time, below other output. */
import { afterEach, expect, test } from 'vitest'
import { StandingPrompt } from '../../../src/cli/terminal/standing-prompt.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { TypedTerminal } from './typed-terminal.ts'

const opened: StandingPrompt[] = []
afterEach(() => {
  for (const prompt of opened.splice(0)) prompt.leave()
})

function stand(columns = 41) {
  const terminal = new TypedTerminal(columns)
  const { screen } = terminal
  const said: string[] = []
  const prompt = new StandingPrompt(
    {
      onLine: (text, alt) => said.push(alt ? `alt ${text}` : text),
      onEscape: () => said.push('escape'),
      onInterrupt: () => said.push('interrupt'),
      onEnd: () => said.push('end'),
      onLost: () => said.push('lost'),
      complete: (line) => ['/kinds', '/kind'].filter((word) => word.startsWith(line)),
    },
    terminal.stdin,
    screen.stream,
  )
  opened.push(prompt)
  prompt.stand()
  const type = (text: string) => terminal.type(text)
  const shows = (...lines: string[]) => terminal.shows(...lines)
  return { prompt, screen, type, shows, said }
}

test('the typed text stays whole while lines are written above it (STANDING-1)', async () => {
  const { prompt, type, shows, said } = stand()
  type('hel')
  await shows('> hel')
  prompt.tell('one', 'two')
  await shows('one', 'two', '> hel')
  type('lo')
  await shows('one', 'two', '> hello')
  type('\r')
  await shows('one', 'two', '> ')
  expect(said).toEqual(['hello'])
})

test('lines above the prompt are drawn again in place, and lines longer than the terminal are broken', async () => {
  const { prompt, screen, type, shows } = stand(21)
  prompt.status = () => ['working 1s']
  type('a'.repeat(25))
  await shows('working 1s', `> ${'a'.repeat(18)}`, 'a'.repeat(7))
  prompt.status = () => ['working 2s', 'reader']
  await shows('working 2s', 'reader', `> ${'a'.repeat(18)}`, 'a'.repeat(7))
  type('\u0015')
  await shows('working 2s', 'reader', '> ')
  prompt.leave()
  expect(screen.lines).toEqual([])
})

test('the cursor stands where the next character goes, and each frame begins from there', async () => {
  const { prompt, screen, type, shows } = stand()
  type('ab\u001b[D')
  await waitUntil('the cursor moved', () => screen.written.endsWith('\u001b[1A\u001b[3C\u001b[?2026l'))
  prompt.tell('above')
  type('x')
  await shows('above', '> axb')
  expect(screen.written).toContain('above')
})

test('Esc, Ctrl+C and Alt+Enter are keys; Tab completes the line, or shows how it could go on', async () => {
  const { type, shows, said } = stand()
  type('\u001b')
  await waitUntil('escape', () => said.includes('escape'))
  type('now')
  await shows('> now')
  type('\u001b\r')
  await waitUntil('alt', () => said.includes('alt now'))
  await shows('> ')
  type('/k\t')
  await shows('> /kind')
  type('\t')
  await shows('/kinds  /kind', '> /kind')
  type('\u0003')
  await waitUntil('interrupt', () => said.includes('interrupt'))
  expect(said).toEqual(['escape', 'alt now', 'interrupt'])
})

test('other code may write in between, and the typed text is shown again', async () => {
  const { prompt, screen, type, shows } = stand()
  type('later')
  await shows('> later')
  prompt.aside(() => screen.stream.write('answer\n'))
  await shows('answer', '> later')
  expect(screen.written).not.toContain('> lateranswer')
})
