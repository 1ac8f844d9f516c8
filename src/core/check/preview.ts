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
  if (text.length <= charactersMax) return JSON.stringify(text)
  return `${JSON.stringify(text.slice(0, charactersMax))}… (${text.length} characters)`
}
