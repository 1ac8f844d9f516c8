/**
 * Duty: the numbers of metrics in this process. Counting is one look-up in a map.
 * METRIC-SET-1 A metric has at most 1 000 series. What comes beyond is counted under the label value "other", so that a mistake of a caller cannot
 *              fill the memory of a node.
 */
import { bucketBounds, type MetricName, metrics } from './metric-catalogue.ts'

export type Labels = Readonly<Record<string, string | number>>

export interface Sample {
  readonly labels: Labels
  readonly value: number
}

export interface Histogram {
  readonly labels: Labels
  /** How many values fell into each bucket, each counted in one bucket alone; the last bucket has no bound. */
  readonly buckets: readonly number[]
  readonly sum: number
}

interface Series {
  readonly labels: Labels
  value: number
  buckets: number[]
}

const seriesMax = 1_000

export class MetricSet {
  readonly #metrics = new Map<MetricName, Map<string, Series>>()

  add(name: MetricName, by: number, labels: Labels = {}): void {
    if (by > 0) this.#series(name, labels).value += by
  }

  observe(name: MetricName, seconds: number, labels: Labels = {}): void {
    const series = this.#series(name, labels)
    series.value += seconds
    const found = bucketBounds.findIndex((bound) => seconds <= bound)
    const bucket = found < 0 ? bucketBounds.length : found
    series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1
  }

  samples(name: MetricName): readonly Sample[] {
    return [...(this.#metrics.get(name)?.values() ?? [])]
  }

  histograms(name: MetricName): readonly Histogram[] {
    const counts = (buckets: readonly number[]) =>
      Array.from({ length: bucketBounds.length + 1 }, (_, index) => buckets[index] ?? 0)
    const series = [...(this.#metrics.get(name)?.values() ?? [])]
    return series.map(({ labels, value, buckets }) => ({ labels, buckets: counts(buckets), sum: value }))
  }

  #series(name: MetricName, labels: Labels): Series {
    const all = this.#seriesOf(name)
    const known = all.get(keyOf(name, labels))
    if (known) return known
    const own = all.size < seriesMax ? labels : othersOf(name) // A metric has at most 1 000 series (METRIC-SET-1).
    const key = keyOf(name, own)
    const series: Series = all.get(key) ?? { labels: own, value: 0, buckets: [] }
    all.set(key, series)
    return series
  }

  #seriesOf(name: MetricName): Map<string, Series> {
    const known = this.#metrics.get(name)
    if (known) return known
    const made = new Map<string, Series>()
    this.#metrics.set(name, made)
    return made
  }
}

function keyOf(name: MetricName, labels: Labels): string {
  return metrics[name].labels.map((label) => labels[label]).join('\n')
}

function othersOf(name: MetricName): Labels {
  return Object.fromEntries(metrics[name].labels.map((label) => [label, 'other']))
}
