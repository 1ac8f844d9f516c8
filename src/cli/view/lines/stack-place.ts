/** Duty: the place in the code of the author that a stack names. */

/** The root of the code of this package: `src`, or `dist`. */
const ours = new URL('../../..', import.meta.url)

/**
 * `/home/me/workers/reader.ts:12:7`: the first place that belongs neither to troupe nor to Node, preferably outside of packages;
 * undefined if there is none.
 */
export function placeOf(stack: string): string | undefined {
  const places = stack
    .split('\n')
    .filter((line) => /^\s*at /.test(line) && !line.includes('node:'))
    .map((line) => /\(?(?:file:\/\/)?([^\s()]+:\d+:\d+)\)?\s*$/.exec(line)?.[1])
    .filter((place) => place?.startsWith(ours.pathname) === false)
  return places.find((place) => !place?.includes('node_modules')) ?? places[0]
}
