import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { printJson, printText } from '../../../src/cli/terminal/output.ts'
import { escapeJson, escapeLine, escapeText, piecesOf } from '../../../src/words/text/escape.ts'

describe('escapeLine', () => {
  it('makes characters visible that would move the cursor, colour or reorder', () => {
    expect(escapeLine('\u001b[2Jgone')).toBe('\\e[2Jgone')
    expect(escapeLine('a\r\nb\tc')).toBe('a\\r\\nb\\tc')
    expect(escapeLine('\u009b31m \u0007 \u007f')).toBe('\\u009b31m \\u0007 \\u007f')
    expect(escapeLine('abc\u202etxt.exe')).toBe('abc\\u202etxt.exe')
  })

  it('leaves other text unchanged', () => {
    expect(escapeLine('é 日本 👍 – “quoted” \\n')).toBe('é 日本 👍 – “quoted” \\n')
  })

  it('escapes every mark that reorders text', () => {
    for (const character of '\u061c\u200e\u200f\u202a\u202e\u2066\u2069') {
      expect(character).toMatch(/\p{Bidi_Control}/u)
      expect(escapeLine(character) + escapeText(character)).not.toMatch(/\p{Bidi_Control}/u)
    }
  })

  it('escapes every control character of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(escapeLine(text)).not.toMatch(/\p{Cc}/u)
        expect(escapeText(text)).not.toMatch(/(?![\n\t])\p{Cc}/u)
      }),
    )
  })
})

describe('the class of unsafe characters (ESC-1)', () => {
  it.each([
    ['C1 control characters', 'a\u0080b\u009fc', 'a\\u0080b\\u009fc'],
    [
      'zero-width spaces and joiners',
      'pass\u200bword \u200c\u200d\u2060\ufeff',
      'pass\\u200bword \\u200c\\u200d\\u2060\\ufeff',
    ],
    ['soft hyphens', 'pass\u00adword', 'pass\\u00adword'],
    ['tag characters', 'ok\u{e0041}\u{e007f}', 'ok\\u{e0041}\\u{e007f}'],
    ['variation selectors that hide data', 'a\ufe0f\ufe01\u{e0100}', 'a\\ufe0f\\ufe01\\u{e0100}'],
    ['a row of variation selectors', '\u2764\ufe0f\ufe0f', '\u2764\ufe0f\\ufe0f'],
    ['invisible fillers and operators', '\u3164\u2062\u180e', '\\u3164\\u2062\\u180e'],
    ['halves of surrogate pairs', 'a\ud83d', 'a\\ud83d'],
  ])('has %s', (_, text, visible) => {
    expect(escapeLine(text)).toBe(visible)
    expect(escapeText(text)).toBe(visible)
    expect(JSON.parse(escapeJson(JSON.stringify(text)))).toBe(text)
    expect(escapeJson(JSON.stringify(text))).not.toMatch(/[\p{Cc}\p{Cs}\u200b\u00ad\u{e0000}-\u{e0fff}]/u)
  })

  it.each([
    ['emoji with a joiner', '👩‍👩‍👧 ❤️ 1️⃣'],
    ['words of a script that joins', 'می\u200cخواهم क्\u200dष'],
    ['variants of Han characters', '葛\u{e0100}'],
  ])('the class of unsafe characters leaves %s unchanged (ESC-2)', (_, text) => {
    expect([escapeLine(text), escapeText(text), escapeJson(text)]).toEqual([text, text, text])
  })
})

describe('escapeText', () => {
  it('keeps lines and tabs', () => {
    expect(escapeText('a\r\n\tb\u001b[0m\rc')).toBe('a\n\tb\\e[0m\\rc')
  })
})

describe('escapeJson', () => {
  it('keeps the value, on one line, without a character that a terminal would obey', () => {
    const text = '\u009b2J \u0085 \u2028 \u202e \u007f \u001b \n é 👍 \\u009b'
    const json = escapeJson(JSON.stringify({ [text]: [text] }))
    expect(JSON.parse(json)).toEqual({ [text]: [text] })
    expect(json).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u)
    expect(json).toContain('é 👍')
  })
})

it('prints JSON without a character that a terminal would obey', () => {
  const written: string[] = []
  using _stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  printJson({ said: 'a\u009bb\u2028\u202e' })
  expect(written).toEqual(['{"said":"a\\u009bb\\u2028\\u202e"}\n'])
})

it.each([
  ['escaped, also into a pipe', {}, 'a\\e[2J\n\tb\\u200b\n'],
  ['unchanged if the person asked for that', { raw: true }, 'a\u001b[2J\n\tb\u200b\n'],
])('prints foreign text %s', (_, options, output) => {
  const written: string[] = []
  using _stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  printText('a\u001b[2J\n\tb\u200b', options)
  expect(written).toEqual([output])
})

describe('piecesOf', () => {
  it('gives all of a text, with what is unsafe apart', () => {
    expect(piecesOf('a\u200bb\u001bc', true)).toEqual(['a', { unseen: '\\u{200b}' }, 'b', { unseen: '\\e' }, 'c'])
    expect(piecesOf('a\nb', true)).toEqual(['a', { unseen: '\\n' }, 'b'])
    expect(piecesOf('a\nb', false)).toEqual(['a\nb'])
    expect(piecesOf('', true)).toEqual([])
  })
})
