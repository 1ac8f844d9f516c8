/**
 * Duty: match names of tools with globs: `*` for any characters, `?` for one, `{read,list}_*` for either. A glob is about the whole name, and
 * tells capitals from small letters. Names hold letters, digits, "_" and "-" alone, so a glob needs no more.
 */
const part = /\{[\w*?-]+(?:,[\w*?-]+)*\}|[\w*?-]/g
const globForm = new RegExp(`^(?:${part.source})+$`)

/** The rule of `isToolGlob` in words, for errors. */
export const toolGlobRule = 'letters, digits, "_" and "-", with * for any characters, ? for one, {read,list} for either'

export function isToolGlob(text: string): boolean {
  return text.length <= 256 && globForm.test(text)
}

/** `glob` is one by `isToolGlob`. Not a pattern of JavaScript: several `*` would take exponential time on a long name. */
export function isAboutTool(glob: string, tool: string): boolean {
  return placesAfter(glob, tool, new Set([0])).has(tool.length)
}

/** Where in the name the glob may have come to, if it began at one of these places. */
function placesAfter(glob: string, tool: string, from: ReadonlySet<number>): ReadonlySet<number> {
  return [...glob.matchAll(part)].reduce((places, [text]) => placesAfterPart(text, tool, places), from)
}

function placesAfterPart(text: string, tool: string, from: ReadonlySet<number>): ReadonlySet<number> {
  if (text.startsWith('{'))
    return new Set(
      text
        .slice(1, -1)
        .split(',')
        .flatMap((one) => [...placesAfter(one, tool, from)]),
    )
  const isAll = text === '*'
  const places = new Set(isAll ? from : [])
  for (let index = 0; index < tool.length; index++) {
    const letter = tool.charAt(index)
    const fits = text === letter || ((isAll || text === '?') && /[\w-]/.test(letter))
    if (fits && (isAll ? places : from).has(index)) places.add(index + 1)
  }
  return places
}
