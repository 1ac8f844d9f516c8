/** Runs the trials of a row, some beside each other, each with chances of its own that follow from the seed. */
import { seeded } from '../support/fault/fault-settings.ts'
import { type Row, type Scale, stageFor, type Trial } from './row.ts'

export interface RowResult {
  readonly id: string
  readonly promise: string
  readonly done: string
  readonly trials: number
  readonly violations: number
  /** The first violated line, and how to have it again. */
  readonly first: string | null
  readonly seed: number
  readonly seconds: number
}

export interface RunSettings {
  readonly scale: Scale
  readonly seed: number
  readonly redisUrl: string
  readonly say: (line: string) => void
}

export async function runRow(row: Row, { scale, seed, redisUrl, say }: RunSettings): Promise<RowResult> {
  const startedAt = performance.now()
  const waiting = [...row.trials(scale).entries()]
  const all = waiting.length
  const broken: string[] = []
  let trials = 0
  const runOne = async (index: number, trial: Trial) => {
    const tell = (line: string) => say(`${row.id} ${trial.name}: ${line}`)
    try {
      const done = await trial.run(stageFor(row.id, redisUrl, seeded(seed + index), tell))
      trials += done ?? 1
      say(`${row.id} ${index + 1}/${all} ${trial.name}`)
    } catch (error) {
      trials++
      const what = error instanceof Error ? error.message : String(error)
      broken.push(`${trial.name}: ${what.slice(0, 1_000)}`)
      say(`${row.id} ${index + 1}/${all} ${trial.name}: VIOLATED\n${error instanceof Error ? error.stack : what}`)
    }
  }
  await Promise.all(
    Array.from({ length: row.atOnce ?? 1 }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await runOne(...next)
    }),
  )
  const { id, promise, done } = row
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  return { id, promise, done, trials, violations: broken.length, first: broken[0] ?? null, seed, seconds }
}
