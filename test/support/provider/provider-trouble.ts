/** What a provider does to a request that it does not serve. */

/** `gone`: the connection ends before any answer. `cut`: it ends in the middle of the reply. `silent`: nothing ever comes. */
export type Trouble =
  | 'gone'
  | 'cut'
  | 'silent'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }

/** A silent one takes the caller seconds, so there are few. */
const troubles: readonly Trouble[] = [
  { status: 429, headers: { 'retry-after': '1' } },
  { status: 429 },
  { status: 429 },
  { status: 500 },
  { status: 503 },
  { status: 529 },
  'gone',
  'gone',
  'cut',
  'cut',
  'cut',
  'silent',
]

/** Is this the answer of a provider that is too busy? */
export function isBusy(trouble: Trouble | null): boolean {
  return trouble !== null && typeof trouble === 'object' && [429, 503, 529].includes(trouble.status)
}

/** Null: the request is served. `part`: which part of all requests is not. */
export function troubleFor(part: number): Trouble | null {
  if (Math.random() >= part) return null
  return troubles[Math.floor(Math.random() * troubles.length)] as Trouble
}
