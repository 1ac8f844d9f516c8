/**
 * Duty: the source of a script: its file, and in front of it what it uses of lua/shared/, directly or through others.
 * Lua makes a closure of each function whenever a script comes to it, whether it is called or not (decision 0012): so what is not used is
 * not there, and what only one function uses stands inside it, where it costs nothing until that one is called.
 */
import { readFileSync } from 'node:fs'

const read = (file: string) => readFileSync(new URL(`./lua/${file}`, import.meta.url), 'utf8')

/** A statement at the beginning of a line, `local …` to the next of its kind, and the names it declares. */
interface Piece {
  readonly names: readonly string[]
  readonly text: string
  readonly uses: ReadonlySet<string>
}

/** A piece in its place: below the script, or inside the function that alone leads to it. */
interface Placed {
  readonly piece: Piece
  readonly within: Placed | null
  readonly inner: Placed[]
}

/** Each file builds on those before it. */
const shared: readonly Piece[] = ['checks', 'records', 'spending', 'mail', 'claims', 'children'].flatMap((name) =>
  piecesOf(read(`shared/${name}.lua`)),
)

export function scriptSource(file: string): string {
  const text = read(file)
  const used = new Set(wordsOf(text))
  const outer: Placed[] = []
  const placed: Placed[] = []
  // What a piece uses stands before it, so the users of each are placed when it is reached.
  for (const piece of shared.toReversed()) {
    const isUsedBy = (words: ReadonlySet<string>) => piece.names.some((name) => words.has(name))
    const users = placed.filter((other) => isUsedBy(other.piece.uses))
    const isUsedByScript = isUsedBy(used)
    if (!isUsedByScript && users.length === 0) continue
    const within = isUsedByScript ? null : users.reduce<Placed | null>(innermostOfBoth, users[0] as Placed)
    const place = { piece, within, inner: [] }
    placed.push(place)
    ;(within?.inner ?? outer).unshift(place)
  }
  return [...outer.map(sourceOf), text].join('\n')
}

/** The innermost function that both stand in, itself included; null is the script. */
function innermostOfBoth(a: Placed | null, b: Placed | null): Placed | null {
  const around = new Set<Placed>()
  for (let place = a; place !== null; place = place.within) around.add(place)
  for (let place = b; place !== null; place = place.within) if (around.has(place)) return place
  return null
}

/** Only functions use others, and the first line of each is its head. */
function sourceOf({ piece, inner }: Placed): string {
  if (inner.length === 0) return piece.text
  const [head, ...body] = piece.text.split('\n')
  return [head, ...inner.map(sourceOf), ...body].join('\n')
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
