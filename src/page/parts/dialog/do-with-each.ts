/**
 * Duty: do one thing with several, and report how it went: with how many it was done, and why not with the others.
 * EACH-1 A refusal for one holds up no other.
 */
import { messageOf, say } from './notes.tsx'

interface Said {
  /** The text of the note: `3 sessions are paused.` */
  readonly text: string
  /** Takes the change back. */
  readonly undo?: () => void
}

const undoMs = 10_000

export async function doWithEach<Row>(
  rows: readonly Row[],
  act: (row: Row) => Promise<unknown>,
  said: (done: readonly Row[]) => Said,
): Promise<void> {
  const settled = await Promise.allSettled(rows.map(act))
  const done = rows.filter((_, at) => settled[at]?.status === 'fulfilled')
  const refused = settled.filter((one) => one.status === 'rejected').map(({ reason }) => messageOf(reason))
  if (done.length > 0) say({ ms: undoMs, ...said(done) })
  const [first] = refused
  if (first === undefined) return
  const others = refused.length === 1 ? '' : ` (and ${refused.length - 1} more)`
  say({
    text: rows.length === 1 ? first : `Not with ${refused.length} of ${rows.length}: ${first}${others}`,
    kind: 'bad',
  })
}
