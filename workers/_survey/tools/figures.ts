/** Duty: choose the few figures of a summary that a model sees, so that it can describe a part. */
import type { Json } from 'troupe'
import { isLanguage } from '../measure/languages.ts'
import type { Summary } from '../summary/summary.ts'

const languagesMax = 5

export function figuresOf({ counts, rows }: Summary): Record<string, Json> {
  const languages = Object.entries(rows)
    .filter(([name]) => isLanguage(name))
    .sort(([, a], [, b]) => b.lines - a.lines)
    .slice(0, languagesMax)
  const { files, bytes, lines, folders, unreadable, lostParts } = counts
  return {
    files,
    bytes,
    lines,
    folders,
    unreadable,
    lostParts,
    linesByLanguage: Object.fromEntries(languages.map(([name, row]) => [name, row.lines])),
  }
}
