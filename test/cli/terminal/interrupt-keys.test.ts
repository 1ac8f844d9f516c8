/** Keys that a person presses while a command works. */
import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import { InterruptKeys } from '../../../src/cli/terminal/interrupt-keys.ts'

/** A terminal that a test types on; `log` has what was done to it, and the signals that were sent. */
function terminal(isTTY = true) {
  const log: string[] = []
  const stdin = Object.assign(new EventEmitter(), {
    isTTY,
    setRawMode: (isRaw: boolean) => void log.push(isRaw ? 'raw' : 'cooked'),
    resume() {},
    pause() {},
    unshift: (data: Buffer) => void log.push(`put back ${data.toString()}`),
  })
  const keys = (isForeground = true) =>
    new InterruptKeys({
      stdin: stdin as never,
      send: (signal) => void log.push(signal),
      isForeground: () => isForeground,
    })
  return { log, keys, type: (text: string) => void stdin.emit('data', Buffer.from(text)) }
}

describe('while a command works', () => {
  test.each([
    ['Esc', '\u001b', 'SIGINT'],
    ['Ctrl+C', '\u0003', 'SIGINT'],
    ['Ctrl+\\', '\u001c', 'SIGQUIT'],
    ['Ctrl+C, pressed three times while the process was busy,', '\u0003\u0003\u0003', 'SIGINT'],
    ['Ctrl+C behind an arrow and a letter', '\u001b[Ax\u0003', 'SIGINT'],
    ['Esc, pressed twice while the process was busy,', '\u001b\u001b', 'SIGINT'],
  ])('%s sends its signal (KEYS-1)', (_, key, signal) => {
    const { log, keys, type } = terminal()
    {
      using _keys = keys()
      type(key)
    }
    expect(log).toEqual(['raw', signal, 'cooked'])
  })

  test('an arrow key is not Esc, and typed text is put back (KEYS-2)', () => {
    const { log, keys, type } = terminal()
    {
      using _keys = keys()
      for (const text of ['\u001b[A', 'a', 'constructor', 'b\n']) type(text)
    }
    expect(log).toEqual(['raw', 'cooked', 'put back \u001b[Aaconstructorb\n'])
  })

  test('Ctrl+Z gives the terminal back before it stops the command, which reads keys again when it goes on (KEYS-1)', () => {
    const { log, keys, type } = terminal()
    {
      using _keys = keys()
      type('\u001a')
      process.emit('SIGCONT', 'SIGCONT')
    }
    expect(log).toEqual(['raw', 'cooked', 'SIGTSTP', 'raw', 'cooked'])
  })

  test.each([
    ['in the background', true, false],
    ['without a terminal', false, true],
  ])('%s the terminal stays as it was (KEYS-3)', (_, isTTY, isForeground) => {
    const { log, keys, type } = terminal(isTTY)
    {
      using _keys = keys(isForeground)
      type('\u001b')
    }
    expect(log).toEqual([])
  })
})
