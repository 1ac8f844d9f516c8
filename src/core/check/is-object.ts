/** Duty: decide what counts as an object when a foreign value is read: a value with named fields. Lists do not count. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
