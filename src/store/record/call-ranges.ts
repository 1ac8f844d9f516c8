/** Duty: write ascending call numbers as ranges ("3-12,14") and read them, so that the field stays short with many children. */

export function encodeCalls(calls: readonly number[]): string {
  const ranges: string[] = []
  for (let index = 0; index < calls.length; ) {
    const first = calls[index] as number
    let last = first
    while (calls[index + 1] === last + 1) {
      last++
      index++
    }
    ranges.push(first === last ? `${first}` : `${first}-${last}`)
    index++
  }
  return ranges.join(',')
}

export function decodeCalls(text: string): number[] {
  if (text === '') return []
  return text.split(',').flatMap((range) => {
    const [first, last] = range.split('-').map(Number) as [number, number?]
    return Array.from({ length: (last ?? first) - first + 1 }, (_, index) => first + index)
  })
}
