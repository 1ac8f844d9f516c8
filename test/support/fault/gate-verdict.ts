/** What holds for kinds with gates at rest: no more runs were in progress at once than their kind says, and each place has come back. */
import { type Gated, gatedMost } from '../../programs/node/chance-gates.ts'
import { waitUntil } from '../time/wait-until.ts'
import type { Harness } from './harness.ts'
import type { LedgerLine } from './ledger.ts'
import { unlessPruned } from './unless-pruned.ts'

const backMsMax = 120_000

/** A run is in progress at least from the first time that it says so until the first time that it is about to end. */
interface Span {
  readonly gate: string
  readonly from: number
  readonly to: number
}

export async function gateFaults(harness: Harness): Promise<string[]> {
  const lines = harness.ledger.lines()
  const runs = Map.groupBy(lines.entries(), ([, { worker, run }]) => `${worker} ${run}`)
  const spans = await Promise.all([...runs.values()].map((of) => spanOf(harness, of)))
  const faults: string[] = []
  for (const [gate, of] of Map.groupBy(spans.flat(), (span) => span.gate)) {
    const most = gatedMost[gate.split(' ')[0] as string] as number
    const atOnce = Math.max(...of.map(({ from: at }) => of.filter(({ from, to }) => from <= at && at < to).length))
    if (atOnce > most) faults.push(`${atOnce} runs were in progress at once at the gate ${gate} of ${most}`)
  }
  return [...faults, ...(await placesLeft(harness))]
}

/** A run that was cancelled may end before its code does; one that was retried was over in between; those of a copy hold no place. */
async function spanOf(harness: Harness, of: readonly (readonly [number, LedgerLine])[]): Promise<Span[]> {
  const from = of.find(([, { what }]) => what === 'in')
  const to = of.find(([, { what }]) => what === 'out')
  if (from === undefined || to === undefined || from[0] > to[0]) return []
  const { worker, note } = from[1]
  const { kind, key, sessionId } = note as Gated
  const summary = await unlessPruned(harness.client.sessions.get(sessionId).summary())
  const history = await unlessPruned(harness.history(worker))
  if (summary === null || history === null || summary.forkedFrom !== null) return []
  if (history.some(({ type }) => type === 'cancelled' || type === 'retried')) return []
  return [{ gate: `${kind} ${key}`, from: from[0], to: to[0] }]
}

async function placesLeft({ redis, namespace }: Harness): Promise<string[]> {
  let left: string[] = []
  const areBack = async () => {
    left = await redis.keys(`{${namespace}.*}:gate*`)
    return left.length === 0
  }
  const isTidy = await waitUntil('every place at a gate has come back', areBack, backMsMax).catch(() => false)
  return isTidy ? [] : [`of gates there is left at rest: ${left.join(' ')}`]
}
