import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NoteScanner, type Notes, noteCharsMax, notesMax } from '../../../workers/_survey/measure/notes.ts'

function scan(...pieces: readonly (string | Buffer)[]): Notes {
  const scanner = new NoteScanner()
  for (const piece of pieces) {
    const buffer = Buffer.from(piece)
    scanner.push(buffer)
    // As the reader does: the buffer is used again.
    buffer.fill('TODO ')
  }
  return scanner.finish()
}

/** Line by line, as grep would. */
function reference(text: string): { todo: number; fixme: number; lines: number[] } {
  const found = { todo: 0, fixme: 0, lines: [] as number[] }
  for (const [index, line] of text.split('\n').entries()) {
    const word = /(?<![A-Za-z0-9_])(TODO|FIXME)(?![A-Za-z0-9_])/.exec(line)?.[1]
    if (word === undefined) continue
    found[word === 'TODO' ? 'todo' : 'fixme']++
    found.lines.push(index + 1)
  }
  return found
}

describe('notes', () => {
  test('notes are whole words in capitals, one in each line', () => {
    const notes = scan('// TODO: a\nTODOS FIXMEs todo xTODO _FIXME TODO_\n/* FIXME(b) c TODO */\n<!-- TODO d -->')
    expect(notes).toEqual({
      todo: 2,
      fixme: 1,
      kept: [
        { line: 1, word: 'TODO', text: 'TODO: a' },
        { line: 3, word: 'FIXME', text: 'FIXME(b) c TODO' },
        { line: 4, word: 'TODO', text: 'TODO d' },
      ],
    })
  })

  test('notes have a text of one line, which is cut if it is long', () => {
    const text = scan(`TODO ${'文'.repeat(500)}\n`).kept[0]?.text ?? ''
    expect(Array.from(text)).toHaveLength(noteCharsMax)
    expect(text).toMatch(/^TODO 文+…$/)
    expect(scan('TODO\ta\u001b[31m\u202eb\r\n').kept[0]?.text).toBe('TODO a [31m b')
    expect(scan(Buffer.from([...Buffer.from('TODO '), 0xff, 0x0a])).kept[0]?.text).toBe('TODO \ufffd')
  })

  test('notes are still counted when no more are kept', () => {
    const notes = scan('TODO\n'.repeat(notesMax + 10))
    expect(notes.todo).toBe(notesMax + 10)
    expect(notes.kept).toHaveLength(notesMax)
  })

  const part = fc.constantFrom(
    'TODO',
    'FIXME',
    'TO',
    'DO',
    'x',
    '_',
    ' ',
    '\n',
    'T',
    'FIX',
    'ME',
    '\r\n',
    'é',
    ' '.repeat(600),
  )
  const textOf = fc.array(part, { maxLength: 40 }).map((parts) => parts.join(''))

  test('notes are the ones that grep finds', () => {
    fc.assert(
      fc.property(textOf, (text) => {
        const { todo, fixme, kept } = scan(text)
        expect({ todo, fixme, lines: kept.map((note) => note.line) }).toEqual(reference(text))
      }),
    )
  })

  test('notes do not depend on where the pieces end (NOTES-1)', () => {
    fc.assert(
      fc.property(
        textOf,
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 9 }),
        (text, lengths) => {
          const bytes = Buffer.from(text)
          const pieces: Buffer[] = []
          for (let at = 0, index = 0; at < bytes.length; index++) {
            const length = lengths[index % lengths.length] ?? 1
            pieces.push(bytes.subarray(at, at + length))
            at += length
          }
          expect(scan(...pieces)).toEqual(scan(bytes))
        },
      ),
      { numRuns: 1_000, examples: [['TODO\r\nTODO', [1]]] },
    )
  })
})
