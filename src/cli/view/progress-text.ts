/** Duty: how far a session is, in counts: `3 working, 10 waiting, 20 queued, 87 done`. */

import { type Activity, activities, isActive, isOver } from '../../core/worker/run/activity.ts'
import { type Paint, stateStyle } from './page.ts'

type Counts = Readonly<Record<Activity, number>>

/** Activities that go on come first, then those that have not begun, then those that are over. */
const order: readonly Activity[] = [
  ...activities.filter(isActive),
  'waiting',
  'paused',
  'queued',
  ...activities.filter(isOver),
]

/** Activities without a worker are left out. */
export function countsText(counts: Partial<Counts>, paint: Paint = (_style, text) => text): string {
  return order
    .filter((activity) => counts[activity])
    .map((activity) => paint(stateStyle(activity), `${counts[activity]} ${activity}`))
    .join(', ')
}
