/** Duty: write numbers, tables and names as Markdown that is also readable as plain text. No name or content of a file can become markup. */

export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']

/** `1.4 MiB`, `12 bytes`. */
export function formatSize(bytes: number): string {
  let size = bytes
  let unit = 0
  // With one decimal, 1023.95 and more would be shown as 1024.0.
  while (size >= 1023.95 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  if (unit === 0) return plural(bytes, 'byte')
  return `${size.toFixed(1)} ${units[unit]}`
}

/** `1 file`, `2,000 files`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** Text that is shown unchanged, on one line. */
export function code(text: string): string {
  const runs = text.match(/`+/g)?.map((run) => run.length) ?? []
  let fence = '`'
  while (runs.includes(fence.length)) fence += '`'
  // Markdown removes one space at both ends. Add it beside a "`", and if the text itself begins and ends with a space.
  const hasSpaces = text.startsWith(' ') && text.endsWith(' ') && text.trim() !== ''
  const space = text.startsWith('`') || text.endsWith('`') || hasSpaces ? ' ' : ''
  return `${fence}${space}${text}${space}${fence}`
}

export interface Column {
  readonly title: string
  readonly align: 'left' | 'right'
}

/** A table with its columns aligned. Cells are Markdown without newlines. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const titles = columns.map((column) => column.title)
  const cells = [titles, ...rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))]
  const widths = columns.map((_, index) => Math.max(3, ...cells.map((row) => widthOf(row[index] ?? ''))))
  const lines = cells.map((row) =>
    line(columns.map(({ align }, index) => pad(row[index] ?? '', widths[index] ?? 3, align))),
  )
  const rule = columns.map(({ align }, index) => {
    const dashes = '-'.repeat((widths[index] ?? 3) - 1)
    return align === 'right' ? `${dashes}:` : `${dashes}-`
  })
  return [lines[0], line(rule), ...lines.slice(1)].join('\n')
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function pad(text: string, width: number, align: Column['align']): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'right' ? space + text : text + space
}

/** The width in a terminal. Most characters of East Asia are two columns wide. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) {
    if (/\p{Mn}/u.test(character)) continue
    width += /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u.test(
      character,
    )
      ? 2
      : 1
  }
  return width
}
