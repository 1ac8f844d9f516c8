/** Duty: where in the author's code something happened, as a stack tells it. */

/** The root of this package's code: `src`, or `dist`. */
const ours = new URL('../..', import.meta.url)

/**
 * `/home/me/workers/reader.ts:12:7`: the first place of a stack that is neither troupe's nor Node's, best one outside of packages;
 * undefined where there is none.
 */
export function placeOf(stack: string): string | undefined {
  const places = stack
    .split('\n')
    .filter((line) => /^\s*at /.test(line) && !line.includes('node:'))
    .map((line) => /\(?(?:file:\/\/)?([^\s()]+:\d+:\d+)\)?\s*$/.exec(line)?.[1])
    .filter((place) => place?.startsWith(ours.pathname) === false)
  return places.find((place) => !place?.includes('node_modules')) ?? places[0]
}
