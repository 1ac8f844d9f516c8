/**
 * Duty: write metrics as the text that Prometheus reads (text format 0.0.4).
 * METRICS-TEXT-1 A metric that nobody counted is absent if it has labels, else 0 for a counter.
 */
import { bucketBounds, type MetricName, metrics } from './metric-catalogue.ts'
import type { Labels, MetricSet, Sample } from './metric-set.ts'

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Gauges of the moment, beside what was counted. */
export type Gauges = Partial<Record<MetricName, number | readonly Sample[]>>

export function metricsText(counted: MetricSet, gauges: Gauges): string {
  const names = Object.keys(metrics) as MetricName[]
  return names.map((name) => familyText(name, counted, gauges)).join('')
}

function familyText(name: MetricName, counted: MetricSet, gauges: Gauges): string {
  const { type, help, labels } = metrics[name]
  const lines = type === 'histogram' ? histogramLines(name, counted) : valueLines(name, counted, gauges[name])
  if (lines.length === 0 && type === 'counter' && labels.length === 0) lines.push(`${name} 0`)
  if (lines.length === 0) return ''
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
}

function valueLines(name: MetricName, counted: MetricSet, gauge: Gauges[MetricName]): string[] {
  const given = typeof gauge === 'number' ? [{ labels: {}, value: gauge }] : (gauge ?? [])
  return [...counted.samples(name), ...given].map(({ labels, value }) => `${name}${labelsText(labels)} ${value}`)
}

function histogramLines(name: MetricName, counted: MetricSet): string[] {
  return counted.histograms(name).flatMap(({ labels, buckets, sum }) => {
    let total = 0
    const lines = buckets.map((count, index) => {
      total += count
      const le = index < bucketBounds.length ? String(bucketBounds[index]) : '+Inf'
      return `${name}_bucket${labelsText({ ...labels, le })} ${total}`
    })
    return [...lines, `${name}_sum${labelsText(labels)} ${sum}`, `${name}_count${labelsText(labels)} ${total}`]
  })
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
