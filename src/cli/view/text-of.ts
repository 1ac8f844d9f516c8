/** Duty: a field of an event or a log record as text: what is no text has no meaning there. */
export function textOf(value: unknown, otherwise = ''): string {
  return typeof value === 'string' ? value : otherwise
}
