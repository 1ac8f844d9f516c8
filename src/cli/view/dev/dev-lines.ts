/** Duty: what `troupe dev` says of itself, as lines for people: where everything is, the kinds, and what became of the code. */

import { formatDuration } from '../../../words/duration.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { wrapText } from '../../../words/text/text-width.ts'
import type { Page } from '../page.ts'
import { type Column, tableLines } from '../table.ts'

/** A kind that works. */
export interface ShownKind {
  readonly kind: string
  readonly sort: 'agent' | 'handler'
  readonly model: string | null
  readonly description: string
}

/** A kind that cannot work, and why. */
export interface ShownProblem {
  readonly kind: string
  readonly message: string
}

/** The place of something: `page http://127.0.0.1:4100`. */
export type Whereabouts = readonly (readonly [what: string, where: string])[]

export function whereLines(places: Whereabouts, { paint }: Page): string[] {
  const width = Math.max(...places.map(([what]) => what.length))
  return places.map(([what, where]) => `  ${paint('dim', what.padEnd(width))}   ${escapeLine(where)}`)
}

export function kindLines(kinds: readonly ShownKind[], problems: readonly ShownProblem[], page: Page): string[] {
  const columns: Column<ShownKind>[] = [
    { header: 'kind', value: ({ kind }) => kind, style: () => 'cyan' },
    { header: 'sort', value: ({ sort }) => sort },
    ...(kinds.some(({ model }) => model !== null)
      ? [{ header: 'model', value: ({ model }: ShownKind) => model, shrinksTo: 12 }]
      : []),
    { header: 'description', value: ({ description }) => description, shrinksTo: 16 },
  ]
  const table = tableLines(kinds, columns, { ...page, columns: page.columns - 2 }).map((line) => `  ${line}`)
  const isOffline = kinds.some(({ model }) => model === 'offline/rules')
  return [...table, ...problemLines(problems, page), ...(isOffline ? [page.paint('dim', offlineText)] : [])]
}

const offlineText = '  offline/rules: fixed rules, no language model. For a real one: --model'

/** What a kind lacks, a line each. */
export function problemLines(problems: readonly ShownProblem[], { paint, columns }: Page): string[] {
  return problems.flatMap(({ message }) =>
    wrapText(escapeLine(hinted(message)), columns - 4).map((line, index) =>
      index === 0 ? `  ${paint('yellow', '!')} ${line}` : `    ${line}`,
    ),
  )
}

/** In development, a key belongs in the file that the node reads. */
function hinted(message: string): string {
  return message.replace(/ set (\w+_(?:API_KEY|BASE_URL))\.$/, ' set $1, or write it into .env.')
}

export function changedText(files: readonly string[]): string {
  const [first = '', ...more] = files
  if (more.length === 0) return escapeLine(first)
  return `${escapeLine(first)} and ${more.length} more`
}

/** What a reload changed in the list of kinds: `; new: a; gone: b`. */
export function kindsChangeText(before: readonly string[], after: readonly string[]): string {
  const added = after.filter((kind) => !before.includes(kind))
  const gone = before.filter((kind) => !after.includes(kind))
  const part = (word: string, kinds: readonly string[]) => (kinds.length === 0 ? '' : `; ${word}: ${kinds.join(', ')}`)
  return escapeLine(`${part('new', added)}${part('gone', gone)}`)
}

export function againText(ms: number): string {
  return `another one starts in ${formatDuration(ms)}`
}
