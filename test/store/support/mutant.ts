/** A script from which one guard was taken, and the check that must notice. */
import { expect } from 'vitest'
import { InvariantError } from '../../../src/core/errors.ts'
import type { Script } from '../../../src/store/script/script.ts'
import type { Check } from './checks.ts'
import { Place } from './place.ts'

type AnyScript = Pick<Script<string, string, string>, 'source' | 'sha' | 'file'>

export interface Mutant {
  readonly guard: string
  readonly script: AnyScript
  /** Text of the script, which must be there once. */
  readonly from: string
  readonly to: string
  readonly check: Check
}

export async function expectRedWithout({ script, from, to, check }: Mutant): Promise<void> {
  const mutant = mutate(script, from, to)
  await using whole = await Place.open()
  await check(whole)
  await using broken = await Place.open()
  broken.wire.replace(script.sha, mutant)
  const red = await check(broken).then(
    () => null,
    (error: unknown) => error,
  )
  expect(red).toBeInstanceOf(Error)
  // A script that cannot run at all proves nothing.
  expect(red).not.toBeInstanceOf(InvariantError)
}

function mutate({ source, file }: AnyScript, from: string, to: string): string {
  const pieces = source.split(from)
  if (pieces.length !== 2) throw new Error(`${file} has ${pieces.length - 1} times: ${from}`)
  return pieces.join(to)
}
