/**
 * A Lua script as text: its header, its binding block and its body, and what disagrees between them and its descriptor.
 * What scripts share is in lua/shared/.
 */

export interface LuaScript {
  readonly file: string
  readonly text: string
  readonly shared: string
  readonly keys: readonly string[]
  /** The fields of the script's JSON header; absent if the script takes no header. */
  readonly header: readonly string[]
  /** The fields of each list or object within the header. */
  readonly fields?: Readonly<Record<string, readonly string[]>> | undefined
  readonly args: readonly string[]
}

interface Slot {
  readonly number: number
  readonly name: string
  readonly isDeclared: boolean
}

interface Parts {
  readonly header: string
  /** The first lines, which give names to KEYS and ARGV. */
  readonly binding: string
  /** The rest of the script, without comments. */
  readonly body: string
}

/** Returns a line for each disagreement. */
export function disagreements(script: LuaScript): string[] {
  const parts = partsOf(script.text)
  if (parts === null) return ['has no header']
  const checks = [titleRules, slotRules, bindingRules, tailRules, fieldRules, bodyRules, wordRules, buildRules]
  return checks.flatMap((check) => check(parts, script))
}

function partsOf(text: string): Parts | null {
  const found = /^--\[\[([\s\S]*?)\]\]\n([\s\S]*)$/.exec(text)
  if (!found) return null
  const lines = (found[2] as string).split('\n')
  const end = lines.findIndex((line, index) => !isBinding(line, lines[index - 1]))
  const body = lines.slice(end).join('\n')
  return { header: found[1] as string, binding: lines.slice(0, end).join('\n'), body: withoutComments(body) }
}

function isBinding(line: string, before: string | undefined): boolean {
  return (
    /^local [\w, ]+ =.*\b(KEYS|ARGV)\b/.test(line) ||
    (before?.endsWith(',') === true && /^\s+.*\b(KEYS|ARGV)\b/.test(line))
  )
}

function withoutComments(lua: string): string {
  return lua.replace(/--[^\n]*/g, '')
}

function titleRules({ header }: Parts, { file }: LuaScript): string[] {
  const found: string[] = []
  if (!header.startsWith(` ${file.replace('.lua', '')} – `))
    found.push('the header does not begin with its name and duty')
  for (const part of ['Why a script', 'Returns', 'Events'])
    if (!new RegExp(`^${part}\\b`, 'm').test(header)) found.push(`the header has no line "${part}"`)
  return found
}

function slots(header: string, kind: 'KEYS' | 'ARGV'): Slot[] {
  const pattern = new RegExp(`\\b${kind}\\[(\\d+)\\] +(\\w+)([^\\n]*?)(?=\\b(?:KEYS|ARGV)\\[|\\n)`, 'g')
  return [...header.matchAll(pattern)]
    .map(([, number, name, rest]) => ({
      number: Number(number),
      name: name as string,
      isDeclared: kind === 'KEYS' && /\bdeclared\b/.test(rest as string),
    }))
    .sort((a, b) => a.number - b.number)
}

function slotRules({ header }: Parts, { keys, header: fields, args }: LuaScript): string[] {
  const differ = (kind: 'KEYS' | 'ARGV', names: readonly string[]) => {
    const written = slots(header, kind).map(({ number, name }) => `${number} ${name}`)
    const meant = names.map((name, index) => `${index + 1} ${name}`)
    return written.join(', ') === meant.join(', ')
      ? []
      : [`the header has ${kind} ${written.join(', ')}; the descriptor ${meant.join(', ')}`]
  }
  return [...differ('KEYS', keys), ...differ('ARGV', fields.length > 0 ? ['header', ...args] : args)]
}

/** Local name to the KEYS or ARGV that it is bound to. */
function bindings(binding: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const [, left, right] of binding.replace(/,\n\s+/g, ', ').matchAll(/^local ([\w, ]+) = (.*)$/gm)) {
    const names = (left as string).split(', ')
    const values = (right as string).split(/, (?![^(]*\))/)
    for (const [index, name] of names.entries()) found.set(name, values[index] ?? 'nil')
  }
  return found
}

function bindingRules({ header, binding, body }: Parts): string[] {
  const found: string[] = []
  const bound = bindings(binding)
  const byValue = new Map(
    [...bound].map(([name, value]) => [value.replace(/^(?:tonumber|readHeader)\((.*)\)$/, '$1'), name]),
  )
  for (const { number, name, isDeclared } of slots(header, 'KEYS')) {
    const local = byValue.get(`KEYS[${number}]`)
    if (isDeclared && local) found.push(`KEYS[${number}] ${name} is marked declared and yet bound`)
    if (!isDeclared && !local) found.push(`KEYS[${number}] ${name} is not bound to a local`)
    if (!isDeclared && local && ![name, `${name}Key`, `${name}Hash`].includes(local))
      found.push(`KEYS[${number}] ${name} is bound to the name ${local}`)
  }
  const args = slots(header, 'ARGV')
  for (const { number, name } of args) {
    const local = byValue.get(`ARGV[${number}]`)
    const isTail = number === args.length && [...bound.values()].includes('ARGV')
    if (!isTail && local !== name)
      found.push(`ARGV[${number}] ${name} is ${local ? `bound to the name ${local}` : 'not bound'}`)
  }
  for (const name of bound.keys())
    if (!new RegExp(`\\b${name}\\b`).test(body)) found.push(`${name} is bound and never used`)
  return found
}

/** A list of variable length at the end: bound whole with a cursor to its first item, and explained. */
function tailRules({ header, binding }: Parts): string[] {
  const bound = bindings(binding)
  if (![...bound.values()].includes('ARGV')) return []
  const last = slots(header, 'ARGV').at(-1)
  const found: string[] = []
  if (bound.has('cursor') && bound.get('cursor') !== String(last?.number))
    found.push(`the cursor begins at ${bound.get('cursor')}; the list is ARGV[${last?.number}]`)
  const explained = new RegExp(`ARGV\\[${last?.number}\\] ${last?.name} .*\\b(count|then|each)\\b`)
  if (!explained.test(header)) found.push(`the list at ARGV[${last?.number}] is not explained`)
  return found
}

/** Collects the names of a header's fields: those of the header itself under '', those of a list or an object within it under its name. */
function fieldsIn(header: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  const section = /ARGV\[1\] header\b[^\n]*\n((?: {2,}[^\n]*\n)*)/.exec(header)?.[1] ?? ''
  const path: string[] = []
  for (const [, indent, names] of section.matchAll(/^((?: {2}){1,3})(\w+(?:, \w+)*) {2,}\S/gm)) {
    const depth = (indent as string).length / 2
    path.length = depth - 1
    const parent = path.at(-1) ?? ''
    const all = (names as string).split(', ')
    found.set(parent, [...(found.get(parent) ?? []), ...all])
    path.push(all.at(-1) as string)
  }
  return found
}

/** The fields of a script's JSON header are the same, by name, in its Lua header, in its descriptor, and in what it reads. */
function fieldRules({ header, body }: Parts, { header: top, fields = {}, shared }: LuaScript): string[] {
  const written = fieldsIn(header)
  const meant = new Map([...(top.length > 0 ? [['', top] as const] : []), ...Object.entries(fields)])
  const found: string[] = []
  for (const parent of new Set([...written.keys(), ...meant.keys()])) {
    const [inHeader, inDescriptor] = [written.get(parent) ?? [], meant.get(parent) ?? []]
    const where = parent === '' ? 'header' : `header's ${parent}`
    for (const name of inHeader)
      if (!inDescriptor.includes(name))
        found.push(`the ${where} has a field ${name}, which the descriptor does not have`)
    for (const name of inDescriptor)
      if (!inHeader.includes(name))
        found.push(`the descriptor has a field ${name} of the ${where}, which is not explained`)
  }
  const code = [body, ...helpersOf(body, shared).values()].join('\n')
  for (const name of new Set([...written.values()].flat()))
    if (!new RegExp(`\\.${name}\\b|'${name}'`).test(code)) found.push(`the field ${name} is explained and never read`)
  for (const name of new Set(matches(body, /\bheader\.(\w+)/g)))
    if (!written.get('')?.includes(name)) found.push(`the field ${name} is read and not explained`)
  for (const parent of Object.keys(fields)) found.push(...itemRules(parent, written.get(parent) ?? [], code))
  return found
}

/**
 * Each field that the code reads of an item is explained, or set by the script itself. An item of `steps`, or of a variable that holds that list, has
 * the name in the singular.
 */
function itemRules(list: string, explained: readonly string[], code: string): string[] {
  const holders = matches(code, new RegExp(`\\b(\\w+)(?:, \\w+)* = listOf\\(\\w+, '${list}'`, 'g'))
  const found: string[] = []
  for (const item of new Set([list, ...holders].map((name) => name.replace(/s$/, ''))))
    for (const name of new Set(matches(code, new RegExp(`\\b${item}\\.(\\w+)`, 'g')))) {
      const isSet = new RegExp(`\\.${name}\\b[^=\\n]*[^=~<>]=[^=]|[{,] ${name} = `).test(code)
      if (!explained.includes(name) && !isSet)
        found.push(`the field ${name} of the header's ${list} is read and not explained`)
    }
  return found
}

function bodyRules({ body }: Parts): string[] {
  const used = body.split('\n').find((line) => /\b(KEYS|ARGV)\b/.test(line))
  return used === undefined ? [] : [`KEYS or ARGV below the first lines: ${used.trim()}`]
}

/** Words that a script answers with stand in quotes in its header, and those in its header are answered. */
function wordRules({ header, body }: Parts, { shared }: LuaScript): string[] {
  const section = /^Returns ([\s\S]*?)(?=^(?:Builds|Events)|$(?![\s\S]))/m.exec(header)?.[1] ?? ''
  const documented = new Set([...section.matchAll(/"(\w+)"/g)].map(([, word]) => word as string))
  const helpers = helpersOf(body, shared)
  const code = [body, ...helpers.values()].join('\n')
  const found: string[] = []
  for (const word of documented)
    if (!code.includes(`'${word}'`)) found.push(`"${word}" is documented and never returned`)
  for (const word of returned(body, helpers))
    if (!documented.has(word)) found.push(`"${word}" is returned and not documented`)
  return found
}

function returned(body: string, helpers: ReadonlyMap<string, string>): Set<string> {
  const words = new Set(matches(body, /\breturn \{ '(\w+)'/g))
  const below = [...helpers.values()].join('\n')
  if (/\breturn (?:\w+\(|answer$)/m.test(body.replace(/^ .*$|local function[\s\S]*?^end/gm, '')))
    for (const word of [
      ...matches(below, /\breturn \{ '(\w+)'/g),
      ...matches(below, /\btag = [^\n]*?'(\w+)'/g),
      ...matches(below, /\btag = [^\n]* or '(\w+)'/g),
    ])
      words.add(word)
  if (/\breturn \{ why \}/.test(body)) for (const word of matches(below, /\breturn nil, '(\w+)'/g)) words.add(word)
  for (const word of matches(body, /\bverdicts\[[^\]]*\] = (?:\w+ and )?'(\w+)'/g)) words.add(word)
  for (const word of matches(body, /\bverdicts\[[^\]]*\] = \w+ and '\w+' or '(\w+)'/g)) words.add(word)
  return words
}

/** The header lists the keys that the code puts together, and no other ones. */
function buildRules({ header, body }: Parts, { shared }: LuaScript): string[] {
  const section = /^Builds ([\s\S]*?)(?=^Events|$(?![\s\S]))/m.exec(header)?.[1] ?? ''
  const listed = new Set([...section.matchAll(/\bT:(\w+)/g)].map(([, name]) => name as string))
  const named = new Set(slots(header, 'KEYS').map(({ name }) => ({ session: 's', record: 'w' })[name] ?? name))
  const built = builtIn([body, ...helpersOf(body, shared).values()].join('\n'))
  const found: string[] = []
  for (const name of built)
    if (!listed.has(name) && !named.has(name)) found.push(`builds T:${name}, which the header does not list`)
  for (const name of listed) if (!built.has(name)) found.push(`lists T:${name}, which is never built`)
  return found
}

function builtIn(code: string): Set<string> {
  const names = new Set(matches(code, /\btag \.\. ':(\w+)/g))
  if (/\bworkerKey\(/.test(code)) names.add('w')
  if (/\bsessionKey\(/.test(code)) names.add('s')
  return names
}

/** Finds the shared functions that a body calls, and those that these functions call. */
function helpersOf(body: string, shared: string): Map<string, string> {
  const all = new Map(
    [...withoutComments(shared).matchAll(/^local function (\w+)\([\s\S]*?^end$/gm)].map((found) => [
      found[1] as string,
      found[0],
    ]),
  )
  const called = new Map<string, string>()
  const visit = (code: string) => {
    for (const [name, text] of all) {
      if (called.has(name) || name === 'workerKey' || name === 'sessionKey') continue
      if (!new RegExp(`(?<!function )\\b${name}\\b`).test(code)) continue
      called.set(name, text)
      visit(text)
    }
  }
  visit(body)
  return called
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, word]) => word as string)
}
