/** Duty: tell whether a value is an Error, even one of another realm (a `vm` context, for example), which has a class of its own. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Error.isError(value)
}
