/** Duty: keep a promise from ending the process, where code of users returned one and an answer was wanted at once: nobody else would handle its rejection. */
export function ignoreRejection(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {})
}
