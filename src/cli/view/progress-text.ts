/** Duty: how far a session is, in counts: `3 running, 10 waiting, 20 queued, 87 done`. */

import type { Activity } from '../../client/activity.ts'
import { type Paint, stateStyle } from './page.ts'

type Counts = Readonly<Record<Activity, number>>

const order: readonly Activity[] = ['running', 'waiting', 'queued', 'done', 'failed', 'cancelled']

/** Activities without a worker are left out. */
export function countsText(counts: Counts): string {
  return order
    .filter((activity) => counts[activity] > 0)
    .map((activity) => `${counts[activity]} ${activity}`)
    .join(', ')
}

/** Events report a turn only when it commits, so that they still count a worker as queued while its first turn runs. */
export function withRunning(counts: Counts, turns: number): Record<Activity, number> {
  const more = Math.max(0, Math.min(turns - counts.running, counts.queued))
  return { ...counts, running: counts.running + more, queued: counts.queued - more }
}

/** `33 to go, 17 done` */
export function kindText({ running, waiting, queued, done, failed, cancelled }: Counts): string {
  const parts = [
    [running + waiting + queued, 'to go'],
    [done, 'done'],
    [failed, 'failed'],
    [cancelled, 'cancelled'],
  ] as const
  return parts
    .filter(([number]) => number > 0)
    .map(([number, what]) => `${number} ${what}`)
    .join(', ')
}

export function paintCounts(line: string, paint: Paint): string {
  return line.replace(/\d+ (running|waiting|done|failed|cancelled)/g, (part, state: string) =>
    paint(stateStyle(state), part),
  )
}
