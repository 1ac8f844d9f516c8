/**
 * Duty: make texts of providers fit to be stored and shown: without keys, on one line, short.
 * Providers quote what they were sent. A key that this node knows is removed wherever a piece of it appears. Texts that look like keys are
 * removed too, because a proxy at the address may have its own keys.
 */
import { formsOf, redacted } from '../core/secret/known-secrets.ts'
import { keyPrefixes } from '../core/secret/redact.ts'

/** A piece of a key of this length is removed. A key that is not longer is removed as a whole. */
const pieceChars = 8
const shortestSecret = 4

const keyShapes: readonly RegExp[] = [
  /\b(?:Bearer|Basic)\s+[^\s"',;]{4,}/gi,
  new RegExp(String.raw`\b(?:pk|${keyPrefixes})[-_][\w*.…-]{4,}`, 'g'),
  /\bAIza[\w-]{8,}/g,
  /\beyJ[\w-]{8,}(?:\.[\w-]+)*/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}/g,
  /((?:api|access|secret|auth)[-_ ]?(?:key|token)|token|password|[?&]key)(["']?\s*[=:]\s*["']?)[^\s"',;&]{4,}/gi,
  // A long text of letters and digits without a break is more likely a secret than a word.
  /(?<![\w/+-])(?=[\w/+-]*\d)(?=[\w/+-]*[A-Za-z])[\w/+-]{32,}={0,2}/g,
]

/** A text that is part of `known`, the name of a model, is kept, even if it looks like a key. */
export function redact(text: string, secrets: readonly string[], known = ''): string {
  const forms = [...new Set(secrets.filter(({ length }) => length >= shortestSecret).flatMap(formsOf))]
  let clean = blotPieces(text, forms)
  for (const form of forms) if (form.length <= pieceChars) clean = clean.replaceAll(form, redacted)
  for (const shape of keyShapes) {
    clean = clean.replace(shape, (match: string, name?: unknown, sign?: unknown) => {
      if (known.includes(match)) return match
      return typeof name === 'string' && typeof sign === 'string' ? `${name}${sign}${redacted}` : redacted
    })
  }
  return clean
}

/** The text on one line, redacted, cut to `charsMax` characters. */
export function shortened(text: string, secrets: readonly string[], charsMax: number, known = ''): string {
  // Text far beyond the cut is dropped first, so that the patterns do not run over megabytes.
  const line = redact(text.slice(0, charsMax * 10).toWellFormed(), secrets, known)
    .replace(/[\s\x00-\x1f\x7f]+/g, ' ')
    .trim()
  return line.length > charsMax ? `${line.slice(0, charsMax).toWellFormed()} …` : line
}

/** Removes all forms in one pass. One form after another could leave rests of a similar form that are too short to be recognised. */
function blotPieces(text: string, forms: readonly string[]): string {
  const pieces = new Set<string>()
  for (const form of forms)
    for (let at = 0; at + pieceChars <= form.length; at++) pieces.add(form.slice(at, at + pieceChars))
  let clean = ''
  let kept = 0
  for (let at = 0; at + pieceChars <= text.length; ) {
    if (!pieces.has(text.slice(at, at + pieceChars))) {
      at++
      continue
    }
    let end = at + pieceChars
    while (end < text.length && pieces.has(text.slice(end + 1 - pieceChars, end + 1))) end++
    clean += text.slice(kept, at) + redacted
    kept = end
    at = end
  }
  return clean + text.slice(kept)
}
