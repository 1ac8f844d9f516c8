/**
 * Duty: choose the workers of a large session that are shown if not all fit: those that a slot works on now, then those that failed, then those that
 * wait. The others become one line of counts.
 * ROWS-OF-TREE-1 A worker is shown only with all its ancestors, so that each line stands under its parent.
 */
import { type Activity, activities, isActive, isOver } from '../../../core/worker/run/activity.ts'
import { growTree, type Leaf, treeLeaves } from '../../../words/tree.ts'
import type { LiveMember } from './live-session.ts'

export interface LiveRows {
  readonly leaves: readonly Leaf<LiveMember>[]
  /** The number of workers that are not shown, for each activity; undefined if all are shown. */
  readonly omitted: Readonly<Record<Activity, number>> | undefined
}

export function liveRows(members: readonly LiveMember[], rowsMax: number): LiveRows {
  if (members.length <= rowsMax) return { leaves: treeLeaves(growTree(members)), omitted: undefined }
  const shown = chosen(members, Math.max(1, rowsMax - 1))
  const omitted = Object.fromEntries(activities.map((activity) => [activity, 0])) as Record<Activity, number>
  for (const { id, activity } of members) if (!shown.has(id)) omitted[activity]++
  return { leaves: treeLeaves(growTree(members.filter(({ id }) => shown.has(id)))), omitted }
}

function chosen(members: readonly LiveMember[], most: number): ReadonlySet<string> {
  const byId = new Map(members.map((member) => [member.id, member]))
  const shown = new Set<string>()
  // The sort is stable: workers of one rank stay in the order of their spawns, and so do not jump.
  for (const member of members.toSorted((a, b) => rank(a.activity) - rank(b.activity))) {
    const line: string[] = []
    for (let at: LiveMember | undefined = member; at && !shown.has(at.id); at = byId.get(at.parentId ?? ''))
      line.push(at.id)
    if (shown.size + line.length <= most) for (const id of line) shown.add(id)
    if (shown.size === most) break
  }
  return shown
}

function rank(activity: Activity): number {
  if (isActive(activity)) return 0
  if (activity === 'failed' || activity === 'put aside') return 1
  if (activity === 'waiting' || activity === 'paused') return 2
  return isOver(activity) ? 4 : 3
}
