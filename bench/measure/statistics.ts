/** Duty: the two statistics that the bench reports. They are medians, so that one disturbed repeat does not decide a figure. */

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Linear between the neighbours, so that the median of an even number of values is their mean. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}
