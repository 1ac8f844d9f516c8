/** Duty: the entries that may stand between two runs of an agent, although no run writes them. */
import type { Entry } from '../entry.ts'

/** What an agent does between its runs because somebody asked for it: it compacts, is configured, or takes a summary back. */
export const orderedEntries: ReadonlySet<Entry['type']> = new Set([
  'ordered',
  'orderRefused',
  'configured',
  'compacted',
  'cleared',
  'expanded',
])
