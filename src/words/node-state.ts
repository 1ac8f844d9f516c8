/** Duty: the words for the state of a node, for the command line and the page. */
import type { NodeSummary } from '../client/summaries.ts'
import { count } from './amounts.ts'

export function nodeState({ stalled, draining }: Pick<NodeSummary, 'stalled' | 'draining'>): string {
  if (stalled) return 'stalled'
  return draining === undefined ? 'live' : `draining, ${count(draining, 'turn')} left`
}
