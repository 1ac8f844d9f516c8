/** Duty: find the known word that is nearest to a mistyped one, for "Did you mean …?". */

/** A sentence to append to an error about this word. Empty if no known word is near enough. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = closest(word, known)
  return near === undefined ? '' : ` Did you mean ${near}?`
}

/** The nearest known word, if at most a third of the letters differ. Otherwise undefined. */
export function closest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), least)
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** How many letters must be inserted, deleted, changed or swapped with their neighbour. It counts no further than `enough`. */
function editDistance(a: string, b: string, enough: number): number {
  if (Math.abs(a.length - b.length) >= enough) return enough
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let column = 1; column <= b.length; column++) {
      const change = a[row - 1] === b[column - 1] ? 0 : 1
      let least = Math.min(
        (last[column] as number) + 1,
        (line[column - 1] as number) + 1,
        (last[column - 1] as number) + change,
      )
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwap) least = Math.min(least, (before[column - 2] as number) + 1)
      line.push(least)
    }
    before = last
    last = line
  }
  return last[b.length] as number
}
