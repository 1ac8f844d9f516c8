/** Several things go on at once for a time, or until one of them fails. Nothing of them is left when it resolves. */
export async function together<Parts extends readonly Promise<unknown>[]>(
  ms: number,
  begin: (over: AbortSignal) => readonly [...Parts],
): Promise<{ readonly [Part in keyof Parts]: Awaited<Parts[Part]> }> {
  const failed = new AbortController()
  const parts = begin(AbortSignal.any([AbortSignal.timeout(ms), failed.signal]))
  for (const part of parts) part.catch(() => failed.abort())
  await Promise.allSettled(parts)
  return Promise.all(parts)
}
