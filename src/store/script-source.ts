/**
 * Duty: the source of a script: its file, and in front of it what it uses of lua/shared/, directly or through others.
 * Lua makes a closure of each function whenever a script runs, whether it is called or not; what is not there costs nothing
 * (decision 0012).
 */
import { readFileSync } from 'node:fs'

const read = (file: string) => readFileSync(new URL(`./lua/${file}`, import.meta.url), 'utf8')

/** A statement at the beginning of a line, `local …` to the next of its kind, and the names it declares. */
interface Piece {
  readonly names: readonly string[]
  readonly text: string
  readonly uses: ReadonlySet<string>
}

/** Each file builds on those before it. */
const shared: readonly Piece[] = ['checks', 'records', 'mail', 'claims', 'children'].flatMap((name) =>
  piecesOf(read(`shared/${name}.lua`)),
)

export function scriptSource(file: string): string {
  const text = read(file)
  const wanted = new Set(wordsOf(text))
  const kept: string[] = []
  // What a piece uses stands before it.
  for (const piece of shared.toReversed()) {
    if (!piece.names.some((name) => wanted.has(name))) continue
    kept.unshift(piece.text)
    for (const word of piece.uses) wanted.add(word)
  }
  return [...kept, text].join('\n')
}

function piecesOf(text: string): Piece[] {
  return withoutComments(text)
    .split(/^(?=local )/m)
    .flatMap((piece) => {
      const [, names] = /^local (?:function )?([\w, ]+)/.exec(piece) ?? []
      if (names === undefined) return []
      return [{ names: names.split(',').map((name) => name.trim()), text: piece.trimEnd(), uses: wordsOf(piece) }]
    })
}

function withoutComments(text: string): string {
  return text.replace(/--\[\[[\s\S]*?\]\]/g, '').replace(/^\s*--.*\n/gm, '')
}

function wordsOf(text: string): Set<string> {
  return new Set(withoutComments(text).match(/[A-Za-z_]\w*/g))
}
