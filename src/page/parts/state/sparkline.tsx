/** Duty: a number over the last minutes, as this page has seen it, in a line without axes. Its number stands beside it. */
import { type ReactNode, useEffect, useState } from 'react'

const shownMs = 300_000
const width = 120
const height = 28

interface Sample {
  readonly at: number
  readonly value: number
}

/** The samples, by name. They stay while the page is open, whatever screen is shown. */
const series = new Map<string, readonly Sample[]>()

export function Sparkline({ name, value }: { readonly name: string; readonly value: number | undefined }): ReactNode {
  const [samples, setSamples] = useState(() => series.get(name) ?? [])
  useEffect(() => {
    if (value === undefined) return
    const at = Date.now()
    const kept = [...(series.get(name) ?? []).filter((sample) => sample.at > at - shownMs), { at, value }]
    series.set(name, kept)
    setSamples(kept)
  }, [name, value])
  const most = Math.max(1, ...samples.map((sample) => sample.value))
  const end = samples.at(-1)?.at ?? 0
  const points = samples.map((sample) => {
    const x = width - ((end - sample.at) / shownMs) * width
    return `${x.toFixed(1)},${(height - 2 - (sample.value / most) * (height - 4)).toFixed(1)}`
  })
  return (
    <svg className="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {points.length > 1 && <polyline points={points.join(' ')} fill="none" stroke="currentColor" strokeWidth="1.5" />}
    </svg>
  )
}
