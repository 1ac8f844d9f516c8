/** Duty: quote a value in an error, in few words, without calling any code of the value. */

const itemsMax = 5

export function preview(value: unknown): string {
  if (!Array.isArray(value)) return previewItem(value)
  const items = value.slice(0, itemsMax).map(previewItem)
  return `[${[...items, ...(value.length > itemsMax ? ['…'] : [])].join(', ')}]`
}

function previewItem(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80))
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
