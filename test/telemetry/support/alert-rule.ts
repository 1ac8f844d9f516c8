/**
 * The small part of PromQL that the alert rules are written in: `absent(metric)`; `max|min|sum`, `by (label)`, `increase(counter[time])`, and a comparison with a number
 * or with another such value. What it cannot read is an error, so that no rule passes unread.
 */

export interface Series {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The values of a page of metrics. */
export function parseMetrics(text: string): Series[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    return name === undefined ? [] : [{ name, labels: labelsOf(labels), value: Number(value) }]
  })
}

function labelsOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
  return Object.fromEntries(pairs.map(([, name, value]) => [name, value]))
}

/** The label values of the groups for which the rule fires; `''` stands for the only group of a rule without `by`. */
export function firing(expression: string, before: readonly Series[], now: readonly Series[]): string[] {
  const [, absent] = /^absent\((\w+)\)$/.exec(expression) ?? []
  if (absent !== undefined) return now.some(({ name }) => name === absent) ? [] : ['']
  const [, left, operator, right] = /^(.+?) (>=|<|>) (.+)$/.exec(expression) ?? []
  if (left === undefined || operator === undefined || right === undefined)
    throw new Error(`not a comparison: ${expression}`)
  const bound = /^[\d.]+$/.test(right) ? Number(right) : aggregate(right, before, now).get('')
  const values = [...aggregate(left, before, now)]
  if (bound === undefined) return []
  const holds = (value: number) =>
    operator === '<' ? value < bound : operator === '>' ? value > bound : value >= bound
  return values.filter(([, value]) => holds(value)).map(([group]) => group)
}

const fold = {
  max: (values: readonly number[]) => Math.max(...values),
  min: (values: readonly number[]) => Math.min(...values),
  sum: (values: readonly number[]) => values.reduce((total, value) => total + value, 0),
}

function aggregate(text: string, before: readonly Series[], now: readonly Series[]): Map<string, number> {
  const form = /^(max|min|sum)(?: by \((\w+)\) )?\((increase\()?([a-z_]+)(?:\{(.*?)\})?(?:\[\w+\]\))?\)$/
  const [, how, by, increase, name, labels = ''] = form.exec(text) ?? []
  if (how === undefined) throw new Error(`not an aggregate of a metric: ${text}`)
  const wanted = [...labels.matchAll(/(\w+)(!?=)"([^"]*)"/g)].map(([, label = '', operator, value]) => ({
    label,
    isValue: operator === '=',
    value,
  }))
  const of = (series: readonly Series[]) =>
    series.filter(
      (one) =>
        one.name === name && wanted.every(({ label, isValue, value }) => (one.labels[label] === value) === isValue),
    )
  const changeOf = (one: Series): number[] => {
    if (increase === undefined) return [one.value]
    // Prometheus sees no increase in the first sample of a series.
    const earlier = of(before).find(({ labels: known }) => JSON.stringify(known) === JSON.stringify(one.labels))
    return earlier === undefined ? [] : [one.value - earlier.value]
  }
  const groups = Map.groupBy(of(now), (one) => (by === undefined ? '' : (one.labels[by] ?? '')))
  const found = [...groups].map(([group, series]) => [group, series.flatMap(changeOf)] as const)
  return new Map(
    found.filter(([, values]) => values.length > 0).map(([group, values]) => [group, fold[how as 'max'](values)]),
  )
}
