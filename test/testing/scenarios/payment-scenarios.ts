/** Scenarios of the workers of payments.ts for the crash matrix, and what it says of them. */
import { type ChildProcess, fork } from 'node:child_process'
import { on } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CrashMatrixError, type CrashReport, type Scenario, say } from 'troupe/test'
import { expect, inject } from 'vitest'
import { isLong } from '../../support/fault/fault-settings.ts'

type Kind =
  | 'payer'
  | 'careless-payer'
  | 'forgetful'
  | 'clerk'
  | 'stamp'
  | 'counter'
  | 'careless-clerk'
  | 'sender'
  | 'moody'
  | 'waiter'
  | 'quitter'
  | 'guest'
  | 'asker'
  | 'expecter'
  | 'settler'
  | 'guarded'
  | 'starter'
  | 'hoarder'

export function scenario(kind: Kind, more: Partial<Scenario> = {}): Scenario {
  return {
    workers: new URL('./payments.ts', import.meta.url),
    kind,
    input: ({ folder }) => ({ folder, cents: 250 }),
    redisUrl: inject('redisUrl'),
    // As long as a busy machine may need.
    runMsMax: 120_000,
    ...more,
  }
}

/** For scenarios that count the calls of a node: no lease ends while its node lives, however busy the machine is. */
export const sureLease: Partial<Scenario> = { leaseMs: 5_000 }

/** In the short form the node dies around these calls only. */
export const shortly = (...calls: readonly string[]): Partial<Scenario> =>
  isLong ? {} : { only: calls.flatMap((point) => [`before ${point}`, `after ${point}`]) }

/** With what an error says of them. */
export async function reportOf(running: Promise<CrashReport>): Promise<{ report: CrashReport; message: string }> {
  const error = await running.then(
    () => new Error('The matrix found no violation.'),
    (thrown: unknown) => thrown as Error,
  )
  if (!(error instanceof CrashMatrixError)) throw error
  return { report: error.report, message: error.message }
}

/** A file that workers write into the folder of their run. */
export const lines = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n')

/** No violation, and the node was to die at so many points at the least. */
export function expectSurvived({ violations, points, missed }: CrashReport, pointsMin: number): void {
  expect(violations).toEqual([])
  expect(points.length + missed.length).toBeGreaterThanOrEqual(pointsMin)
}

/** A matrix in a process of its own. */
export const startMatrix = (): ChildProcess =>
  fork(new URL('../../programs/matrix.ts', import.meta.url), [inject('redisUrl')], {
    execArgv: ['--conditions=troupe-source'],
  })

/** Resolves when the process of a matrix has sent so many messages. */
export async function messages(child: ChildProcess, most: number): Promise<void> {
  let count = 0
  for await (const _ of on(child, 'message')) if (++count === most) return
}

/** What it refuses to run, and the sentence that says why. */
export const refusedScenarios: readonly (readonly [what: string, more: Partial<Scenario>, sentence: RegExp])[] = [
  ['workers that do not exist', { workers: 'no/such/folder' }, /no\/such\/folder, which does not exist/],
  ['definitions themselves', { workers: {} as string }, /workers is a path or a file URL/],
  ['a module without workers', { workers: new URL(import.meta.resolve('zod')) }, /must export its workers by kind/],
  ['a kind that is not there', { kind: 'tilt' }, /does not define kind "tilt"; it defines payer/],
  ['replies of a kind that is not there', { replies: { nobody: [say('x')] } }, /kind "nobody"/],
  ['replies that are no list', { replies: { clerk: 'x' as never } }, /replies of kind "clerk" are a list/],
  ['an empty list of points', { only: [] }, /only is a list of names/],
  ['a point instead of a list', { only: 'after claim #1' as never }, /only is a list of names/],
  ['a field that is misspelt', { chek: () => {} } as never, /no field chek; a scenario has .*check/],
  ['a Redis that is none', { redisUrl: 'http://127.0.0.1' }, /must begin with redis:/],
  ['a number that is none', { pointsMax: 0 }, /pointsMax must be a whole number from 1, not 0/],
  [
    'a point that is not passed',
    { only: ['after lunch'], input: () => 250 },
    /no point "after lunch".*before claim #1/,
  ],
]
