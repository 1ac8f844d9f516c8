/**
 * A row of the table of faults: what is promised, what is done to it, and the trials. A trial throws where a promise is broken. The short
 * form runs within `npm test` (test/fault), the long one by `npm run faults`; both run these same trials.
 */
import type { Random } from '../support/fault/fault-settings.ts'
import { Harness, type HarnessOptions } from '../support/fault/harness.ts'

export interface Scale {
  readonly isLong: boolean
  /** Processes to kill in each storm. */
  readonly kills?: number | undefined
  /** How long endless rows last; they are not run without, unless they are named. */
  readonly minutes?: number | undefined
}

export interface Stage {
  readonly redisUrl: string
  readonly random: Random
  /** Tells who watches what is happening. */
  say(line: string): void
  /** Nodes and a client in a namespace of their own. */
  open(options?: HarnessOptions): Promise<Harness>
}

export interface Trial {
  readonly name: string
  /** How often the promise was tried, where that is not once. */
  run(stage: Stage): Promise<number | undefined>
}

export interface Row {
  readonly id: string
  readonly promise: string
  readonly done: string
  /** It lasts as long as one likes. */
  readonly isEndless?: true
  /** Trials that may run beside each other; default 1. */
  readonly atOnce?: number
  trials(scale: Scale): readonly Trial[]
}

export function stageFor(
  name: string,
  redisUrl: string,
  random: Random,
  say: (line: string) => void = () => {},
): Stage {
  return { redisUrl, random, say, open: (options) => Harness.open({ redisUrl, name, ...options }) }
}

/** The short form runs beside all other tests, on machines that may be slow: by so much more may what is promised take there. */
export function leniencyMs({ isLong }: Pick<Scale, 'isLong'>): number {
  return isLong ? 0 : 60_000
}

/** The same trial a number of times. */
export function times(count: number, name: string, run: Trial['run']): readonly Trial[] {
  return Array.from({ length: count }, (_, index) => ({ name: `${name} ${index + 1}`, run }))
}

/** Trials whose promise is tried once each. */
export function trial(name: string, run: (stage: Stage) => Promise<void>): Trial {
  return {
    name,
    async run(stage) {
      await run(stage)
      return undefined
    },
  }
}
