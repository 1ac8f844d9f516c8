import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { escapeJson, escapeLine, escapeText } from '../../../src/cli/terminal/escape.ts'
import { printJson } from '../../../src/cli/terminal/output.ts'

describe('escapeLine', () => {
  it('shows what would move, colour or reorder', () => {
    expect(escapeLine('\u001b[2Jgone')).toBe('\\e[2Jgone')
    expect(escapeLine('a\r\nb\tc')).toBe('a\\r\\nb\\tc')
    expect(escapeLine('\u009b31m \u0007 \u007f')).toBe('\\u009b31m \\u0007 \\u007f')
    expect(escapeLine('abc\u202etxt.exe')).toBe('abc\\u202etxt.exe')
  })

  it('leaves other text alone', () => {
    expect(escapeLine('é 日本 👍 – “quoted” \\n')).toBe('é 日本 👍 – “quoted” \\n')
  })

  it('leaves no mark that reorders text', () => {
    for (const character of '\u061c\u200e\u200f\u202a\u202e\u2066\u2069') {
      expect(character).toMatch(/\p{Bidi_Control}/u)
      expect(escapeLine(character) + escapeText(character)).not.toMatch(/\p{Bidi_Control}/u)
    }
  })

  it('leaves no control character of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(escapeLine(text)).not.toMatch(/\p{Cc}/u)
        expect(escapeText(text)).not.toMatch(/(?![\n\t])\p{Cc}/u)
      }),
    )
  })
})

describe('escapeText', () => {
  it('keeps lines and tabs', () => {
    expect(escapeText('a\r\n\tb\u001b[0m\rc')).toBe('a\n\tb\\e[0m\\rc')
  })
})

describe('escapeJson', () => {
  it('keeps the value, on one line and without what a terminal would obey', () => {
    const text = '\u009b2J \u0085 \u2028 \u202e \u007f \u001b \n é 👍 \\u009b'
    const json = escapeJson(JSON.stringify({ [text]: [text] }))
    expect(JSON.parse(json)).toEqual({ [text]: [text] })
    expect(json).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u)
    expect(json).toContain('é 👍')
  })
})

it('prints one object of data as JSON that a terminal does not obey', () => {
  const written: string[] = []
  using _stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  printJson({ said: 'a\u009bb\u2028\u202e' })
  expect(written).toEqual(['{"said":"a\\u009bb\\u2028\\u202e"}\n'])
})
