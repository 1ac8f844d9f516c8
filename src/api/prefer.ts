/** Duty: read the header `Prefer` (RFC 7240), of which `wait` alone is known. */

/** Nobody waits longer: proxies give up on a reply that takes longer. */
const secondsMax = 60

/** How many seconds the caller wants to wait; undefined if it does not want to. */
export function waited(prefer: string | string[] | undefined): number | undefined {
  const [, seconds] = /(?:^|[,;]\s*)wait\s*=\s*"?(\d{1,6})"?/i.exec(String(prefer ?? '')) ?? []
  return seconds === undefined ? undefined : Math.min(secondsMax, Number(seconds))
}
