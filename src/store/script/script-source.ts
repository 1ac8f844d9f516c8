/**
 * Duty: scripts as text. The library is all of them, as functions that Redis keeps (bench/history.md). A source is one script by itself: in front of
 * it stands what it uses of lua/shared/, directly or through others.
 */
import { createHash } from 'node:crypto'
import { InvariantError } from '../../core/errors.ts'
import { libraryName, luaFiles } from './lua-files.ts'

/** The scripts by their names, whichever room of the folder they are in. */
const scripts: ReadonlyMap<string, string> = new Map(
  Object.entries(luaFiles)
    .filter(([path]) => !path.startsWith('shared/'))
    .map(([path, text]) => [path.slice(path.lastIndexOf('/') + 1), text]),
)

const read = (file: string) => withoutComments(readMarked(file))

/** The text of a file, with its comments. */
function readMarked(file: string): string {
  const text = scripts.get(file) ?? luaFiles[file]
  if (text === undefined) throw new InvariantError(`there is no script ${file}.`)
  return text
}

/** A statement that begins a line, from `local …` to the next such statement, and the names that it declares. */
interface Piece {
  readonly names: readonly string[]
  readonly text: string
}

/** What scripts share, by rooms of shared/: each room uses only the rooms before it, and each file only the files before it. */
const rooms = {
  record: ['defaults', 'checks', 'records', 'waits', 'permissions'],
  queue: ['nodes', 'run-queues', 'held', 'starts', 'wakeups', 'set-back'],
  mail: ['events', 'notices', 'asks', 'mail', 'letters'],
  session: ['spending', 'costs', 'sessions', 'children'],
  turn: ['gates', 'claims', 'requests', 'commit-checks', 'batches', 'commit-steps', 'commit-ends'],
}
const parts = Object.entries(rooms).flatMap(([room, names]) => names.map((name) => `${room}/${name}`))
/** A process that calls functions which Redis has needs no text: each is made when it is asked for. */
const files = once((): readonly (readonly Piece[])[] => parts.map((name) => piecesOf(read(`shared/${name}.lua`))))

export function scriptSource(file: string): string {
  return linked(read(file), files())
}

/** The same with the marks of its guards, `-- guard: <name>` behind a line: for tests, which take one guard out and see that they notice. */
export function markedSource(file: string): string {
  return linked(
    withoutHeaders(readMarked(file)),
    parts.map((name) => piecesOf(withoutHeaders(readMarked(`shared/${name}.lua`)))),
  )
}

/** A script with the pieces that it uses in front of it, directly or through others; the pieces of each file are one block. */
function linked(text: string, all: readonly (readonly Piece[])[]): string {
  const used = new Set(wordsOf(text))
  // A piece uses only pieces before it.
  const front = all.toReversed().map((pieces) => {
    const needed: Piece[] = []
    for (const piece of pieces.toReversed()) {
      if (!piece.names.some((name) => used.has(name))) continue
      for (const word of wordsOf(piece.text)) used.add(word)
      needed.unshift(piece)
    }
    return needed
  })
  const texts = [text, ...front.map(textOf)].map(wordsOf)
  const blocks = front.map((pieces, index) =>
    pieces.length === 0 ? [] : [blockOf(pieces, texts.toSpliced(index + 1, 1))],
  )
  return [...blocks.toReversed().flat(), text].join('\n')
}

export interface ScriptLibrary {
  /** "troupe_" and a digest of the text without this name, so that versions of troupe can share a Redis. Its functions begin with it. */
  readonly name: string
  readonly text: string
}

/** Scripts that write nothing. They are registered so, and Redis then calls them even if it is full or a replica. */
const readers: ReadonlySet<string> = new Set(['look'])

const library = once(linkLibrary)

export const scriptLibrary: ScriptLibrary = {
  get name() {
    return libraryName ?? library().name
  },
  get text() {
    return library().text
  },
}

export function functionNameOf(file: string): string {
  return `${scriptLibrary.name}_${wordOf(file)}`
}

/** Names of functions have letters, digits and underscores. */
function wordOf(file: string): string {
  return file.replace('.lua', '').replaceAll('-', '_')
}

function linkLibrary(): ScriptLibrary {
  const functions = [...scripts.keys()].sort().map((file) => [wordOf(file), read(file)] as const)
  const texts = files().map((pieces) => wordsOf(textOf(pieces)))
  const others = (index: number) => texts.toSpliced(index, 1)
  // What no other block uses is given to scripts by a table: Lua has at most 200 locals in one function, and the library is one.
  const used = new Set(functions.flatMap(([, text]) => [...wordsOf(text)]))
  const given = files().map((pieces, index) =>
    pieces
      .flatMap(({ names }) => names)
      .filter((name) => used.has(name) && !others(index).some((words) => words.has(name))),
  )
  const front = files().map((pieces, index) => {
    const giving = (given[index] ?? []).map((name) => ({ names: [], text: `forScripts.${name} = ${name}` }))
    return blockOf([...pieces, ...giving], others(index))
  })
  const takingOf = (text: string) => {
    const words = wordsOf(text)
    const names = given.flat().filter((name) => words.has(name))
    return names.length === 0
      ? ''
      : `local ${names.join(', ')} = ${names.map((name) => `forScripts.${name}`).join(', ')}`
  }
  const made = functions.map(([script, text]) => {
    const [lasting, rest] = withoutLastingFunctions(text)
    const words = [`callback = function(KEYS, ARGV)\n${rest}\nend`]
    if (readers.has(script)) words.push("flags = { 'no-writes' }")
    return { script, before: `${takingOf(text)}\n${lasting}`, words: words.join(', ') }
  })
  const textNamed = (name: string) => {
    const registered = made.map(
      ({ script, before, words }) =>
        `do\n${before}\nredis.register_function{ function_name = '${name}_${script}', ${words} }\nend`,
    )
    return [`#!lua name=${name}`, 'local forScripts = {}', ...front, ...registered].join('\n')
  }
  const digest = createHash('sha1').update(textNamed('')).digest('hex')
  const name = `troupe_${digest.slice(0, 12)}`
  return { name, text: textNamed(name) }
}

/**
 * The functions of a script that know nothing of one call, and the rest. The library makes these functions once, not with each call: Redis collects
 * what a call made (bench/history.md). A function is left where it is if it names a local of the script, or a function that is left.
 */
function withoutLastingFunctions(text: string): readonly [string, string] {
  const declared = piecesOf(text).filter((piece) => !piece.text.startsWith('local function '))
  const ofCalls = new Set(declared.flatMap(({ names }) => names))
  const lasting: string[] = []
  const rest = text.replace(
    /^local function (\w+)\((.*?)\)(?:.* end$|[\s\S]*?^end$)/gm,
    (whole, name: string, parameters: string) => {
      const known = wordsOf(parameters)
      if ([...wordsOf(whole)].some((word) => ofCalls.has(word) && !known.has(word))) {
        ofCalls.add(name)
        return whole
      }
      lasting.push(whole)
      return ''
    },
  )
  return [lasting.join('\n'), rest]
}

/** Makes a file a block of its own: names that only this file uses are local to the block. `others`: the words of all other texts. */
function blockOf(pieces: readonly Piece[], others: readonly ReadonlySet<string>[]): string {
  const isUsed = (name: string) => others.some((words) => words.has(name))
  const outer = pieces.filter(({ names }) => names.some(isUsed))
  const names = outer.flatMap((piece) => piece.names)
  // These names are declared before the block, and get their values in it.
  const inner = pieces.map((piece) =>
    outer.includes(piece) ? { ...piece, text: piece.text.replace(/^local /, '') } : piece,
  )
  const declared = names.length === 0 ? [] : [`local ${names.join(', ')}`]
  return [...declared, 'do', textOf(inner), 'end'].join('\n')
}

function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('\n')
}

function piecesOf(text: string): Piece[] {
  return text.split(/^(?=local )/m).flatMap((piece) => {
    const [, names] = /^local (?:function )?([\w, ]+)/.exec(piece) ?? []
    return names === undefined ? [] : [{ names: names.split(',').map((name) => name.trim()), text: piece.trimEnd() }]
  })
}

function withoutComments(text: string): string {
  return withoutHeaders(text).replace(/ -- guard: .*$/gm, '')
}

/** The text without the comment at the top of the file, and without lines that are comments. */
function withoutHeaders(text: string): string {
  return text.replace(/--\[\[[\s\S]*?\]\]/g, '').replace(/^\s*--.*\n/gm, '')
}

function wordsOf(text: string): Set<string> {
  return new Set(text.match(/[A-Za-z_]\w*/g))
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
