/** Duty: what counts as an object wherever values of others are read: what has fields. A list has none of its own. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
