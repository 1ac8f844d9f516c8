/** The words of a model while it speaks: on the screen of a terminal, and nowhere else. */
import { Writable } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { LiveText } from '../../../src/cli/terminal/live-text.ts'
import { breakText } from '../../../src/cli/terminal/text-width.ts'
import type { EventType, RawEvent } from '../../../src/core/event/event.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** A terminal of 20 columns that knows only line breaks, "up n lines" and "clear to the end". */
class Screen extends Writable {
  readonly isTTY: boolean
  readonly columns = 21
  readonly rows = 24
  lines: string[] = []
  written = ''

  constructor(isTTY = true) {
    super({ decodeStrings: false })
    this.isTTY = isTTY
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    this.written += text
    for (const [, up, line] of text.matchAll(/\u001b\[(\d+)A\u001b\[J|([^\n\u001b]*)\n/g)) {
      if (up !== undefined) this.lines.length -= Number(up)
      else this.lines.push(line ?? '')
    }
    done()
  }

  get stream(): NodeJS.WriteStream {
    return this as unknown as NodeJS.WriteStream
  }
}

const event = (type: EventType, details: Record<string, unknown> = {}, workerId = 'root'): RawEvent => ({
  id: '1-0.0',
  type,
  sessionId: 's',
  workerId,
  at: 0,
  details,
})
const delta = (text: string, iteration = 1, workerId = 'root') => event('text.delta', { text, iteration }, workerId)

function opened(isTTY = true) {
  const screen = new Screen(isTTY)
  const live = new LiveText(screen.stream)
  live.watch('root')
  return { screen, live }
}

describe('LiveText', () => {
  it('shows the words of the root below all other lines, and wipes them when the reply is recorded', async () => {
    const { screen, live } = opened()
    live.tell('before')
    live.note(delta('Hello '))
    live.note(delta('not me', 1, 'child'))
    live.note(delta('world'))
    await waitUntil('it is drawn', () => screen.lines.length === 2)
    expect(screen.lines).toEqual(['before', 'Hello world'])
    live.tell('between')
    expect(screen.lines).toEqual(['before', 'between', 'Hello world'])
    live.note(event('model.replied', { iteration: 1 }))
    live.tell('after')
    expect(screen.lines).toEqual(['before', 'between', 'after'])
  })

  it('shows the last lines of a long text, escaped and no wider than the terminal', async () => {
    const { screen, live } = opened()
    live.note(delta(`\u001b[2J${'ab'.repeat(15)}\n`.repeat(50)))
    await waitUntil('it is drawn', () => screen.lines.length > 0)
    expect(screen.lines).toHaveLength(8)
    expect(screen.lines.slice(-2)).toEqual(['\\e[2Jabababababababa', 'bababababababab'])
    live.end()
    expect(screen.lines).toEqual([])
  })

  it('measures only the lines that it shows, however many line breaks arrive (LIVE-3)', async () => {
    using segment = vi.spyOn(Intl.Segmenter.prototype, 'segment')
    const { screen, live } = opened()
    live.note(delta('é\n'.repeat(1_000_000)))
    await waitUntil('it is drawn', () => screen.lines.length === 8)
    live.end()
    expect(segment.mock.calls.length).toBeLessThanOrEqual(8)
  })

  it('starts again with each iteration and each run, in whatever order replies are recorded', async () => {
    const { screen, live } = opened()
    live.note(delta('first', 1))
    live.note(delta('second', 2))
    await waitUntil('it is drawn', () => screen.lines.length === 1)
    expect(screen.lines).toEqual(['second'])
    live.note(event('model.replied', { iteration: 2 }))
    live.note(delta('third', 3))
    await waitUntil('it is drawn again', () => screen.lines.length === 1)
    expect(screen.lines).toEqual(['third'])
    live.note(delta('fourth', 4))
    live.note(event('model.replied', { iteration: 3 }))
    await waitUntil('the fourth is drawn', () => screen.lines[0] === 'fourth')
    live.note(event('run.completed'))
    expect(screen.lines).toEqual([])
    live.note(delta('of the next run', 1))
    live.note(event('run.started'))
    await waitUntil('the next run is drawn', () => screen.lines.length === 1)
    expect(screen.lines).toEqual(['of the next run'])
    live.end()
    live.end()
    expect(screen.lines).toEqual([])
  })

  it('ignores text that arrives after its reply is recorded', () => {
    const { screen, live } = opened()
    live.note(delta('word', 2))
    live.note(event('model.replied', { iteration: 2 }))
    live.note(delta('late', 2))
    live.tell('a line')
    expect(screen.lines).toEqual(['a line'])
  })

  it('writes only lines without a terminal', () => {
    const { screen, live } = opened(false)
    live.note(delta('Hello'))
    live.tell('a line')
    live.end()
    expect(screen.written).toBe('a line\n')
    expect(live.isShown).toBe(false)
  })
})

describe('breakText', () => {
  it('breaks at columns, not at characters', () => {
    expect(breakText('abcdef', 4)).toEqual(['abcd', 'ef'])
    expect(breakText('ab\n\ncd', 4)).toEqual(['ab', '', 'cd'])
    expect(breakText('日本語', 4)).toEqual(['日本', '語'])
    expect(breakText('日', 1)).toEqual(['日'])
  })
})
