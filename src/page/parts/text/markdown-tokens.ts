/** Duty: read Markdown of models, within bounds. */
import { lexer, type Token } from 'marked'

/** A text that is longer, or nested deeper, is shown as it is: nobody reads it as a page, and a browser may not survive it. */
const charsMost = 60_000
const levelsMost = 40
/** The parser tries each mark of emphasis with all others: a page would stand still for minutes. */
const marksMost = 3_000

/** Null for a text that is shown as it is. */
export function tokensOf(text: string): readonly Token[] | null {
  if (text.length > charsMost || (text.match(/[*_~]/g)?.length ?? 0) > marksMost) return null
  try {
    const tokens = lexer(text, { gfm: true, breaks: true })
    return levelsOf(tokens) > levelsMost ? null : tokens
  } catch {
    // The parser makes one nested call for each level.
    return null
  }
}

function levelsOf(tokens: readonly Token[]): number {
  const inner = tokens.map((token) => {
    const { tokens = [], items = [] } = token as { readonly tokens?: Token[]; readonly items?: Token[] }
    return levelsOf([...tokens, ...items])
  })
  return tokens.length === 0 ? 0 : 1 + inner.reduce((most, levels) => Math.max(most, levels), 0)
}
