/** Duty: quote a value in an error, in few words, without calling any code of the value. */

const itemsMax = 5
const charactersMax = 80

export function preview(value: unknown): string {
  if (!Array.isArray(value)) return previewItem(value)
  const items = value.slice(0, itemsMax).map(previewItem)
  return `[${[...items, ...(value.length > itemsMax ? ['…'] : [])].join(', ')}]`
}

function previewItem(value: unknown): string {
  if (typeof value === 'string') return previewText(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** A text that is cut says so: else a limit would seem to be wrong. */
function previewText(text: string): string {
  if (text.length <= charactersMax) return quoted(text)
  return `${quoted(text.slice(0, charactersMax))}… (${text.length} characters)`
}

/** As JSON; but a text with double quotes, such as JSON itself, stands in single ones, where it stays readable. */
function quoted(text: string): string {
  const json = JSON.stringify(text)
  if (!text.includes('"') || text.includes("'")) return json
  return `'${json.slice(1, -1).replaceAll(/\\(.)/g, (escaped, next) => (next === '"' ? next : escaped))}'`
}
