/** Duty: tell whether a value is an Error, also one of another realm (a `vm` context, for example), whose class is another one. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Error.isError(value)
}
