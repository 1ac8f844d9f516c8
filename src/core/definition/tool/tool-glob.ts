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

/** `glob` is one by `isToolGlob`. */
export function isAboutTool(glob: string, tool: string): boolean {
  return new RegExp(`^${glob.replace(part, patternOf)}$`).test(tool)
}

function patternOf(text: string): string {
  if (text === '*') return '[\\w-]*'
  if (text === '?') return '[\\w-]'
  if (!text.startsWith('{')) return text
  const inner = text.slice(1, -1).split(',')
  return `(?:${inner.map((one) => one.replace(/[*?]/g, patternOf)).join('|')})`
}
