/**
 * A script from which one guard was taken, and the check that must notice.
 * A guard is a line of Lua with the mark `-- guard: <name>`; a mutant names it, and says how it is taken out. So it quotes no Lua that a renaming
 * would break.
 */
import { expect } from 'vitest'
import { InvariantError } from '../../../../src/core/errors.ts'
import type { Script } from '../../../../src/store/script/script.ts'
import { markedSource } from '../../../../src/store/script/script-source.ts'
import { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

type AnyScript = Pick<Script<string, string, string>, 'sha' | 'file'>

export type TakenOut =
  /** The whole line goes. */
  | 'line'
  /** The line comes last in its function. */
  | 'order'
  /** A call that is protected is made without protection: `pcall(f, x)` becomes `true, f(x)`. */
  | 'protection'
  /** The condition between `if` and `then`, or the last number of a `for`. */
  | { readonly condition: string }
  /** The value behind ` = ` or `return`. */
  | { readonly value: string }
  /** The operand behind the nth `and` or `or` of the line, or before it. */
  | { readonly operandAfter: number }
  | { readonly operandBefore: number }
  /** A literal or an operator. */
  | { readonly token: readonly [from: string, to: string] }

export interface Mutant {
  readonly guard: string
  readonly script: AnyScript
  readonly takenOut: TakenOut
  readonly check: Check
}

export async function expectRedWithout({ guard, script, takenOut, check }: Mutant): Promise<void> {
  const mutant = mutate(markedSource(script.file), guard, takenOut)
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

/** The guards of a line: their names, one after the other. */
export function guardsOf(line: string): string[] {
  return / -- guard: (.*)$/.exec(line)?.[1]?.split(' | ') ?? []
}

export function mutate(source: string, guard: string, takenOut: TakenOut): string {
  const lines = source.split('\n')
  const [at, ...more] = lines.flatMap((line, index) => (guardsOf(line).includes(guard) ? [index] : []))
  if (at === undefined || more.length > 0)
    throw new Error(`The script has ${at === undefined ? 'no' : 'more than one'} guard "${guard}".`)
  const code = (lines[at] as string).replace(/ -- guard: .*$/, '')
  if (takenOut === 'line') return lines.toSpliced(at, 1).join('\n')
  if (takenOut === 'order') {
    const end = lines.findIndex((line, index) => index > at && line === 'end')
    return lines.toSpliced(end, 0, code).toSpliced(at, 1).join('\n')
  }
  return lines.with(at, changed(code, takenOut)).join('\n')
}

function changed(code: string, takenOut: Exclude<TakenOut, 'line' | 'order'>): string {
  if (takenOut === 'protection') return replaced(code, /pcall\((\w+), /, 'true, $1(')
  if ('condition' in takenOut) {
    if (/^\s*for /.test(code)) return replaced(code, /, .* do$/, `, ${takenOut.condition} do`)
    return replaced(code, /((?:^|\s)(?:else)?if ).*?( then\b)/, `$1${takenOut.condition}$2`)
  }
  if ('value' in takenOut) return replaced(code, /(\breturn |^[^=]* = ).*?( end)?$/, `$1${takenOut.value}$2`)
  if ('token' in takenOut) {
    const [from, to] = takenOut.token
    const pieces = code.split(from)
    if (pieces.length !== 2) throw new Error(`There should be one ${from} in: ${code}`)
    return pieces.join(to)
  }
  return 'operandAfter' in takenOut
    ? withoutAfter(code, takenOut.operandAfter)
    : withoutBefore(code, takenOut.operandBefore)
}

function replaced(code: string, pattern: RegExp, by: string): string {
  if (!pattern.test(code)) throw new Error(`There should be ${pattern} in: ${code}`)
  return code.replace(pattern, by)
}

interface Connective {
  readonly from: number
  readonly to: number
}

function connective(code: string, number: number): Connective {
  const found = [...code.matchAll(/ (?:and|or) /g)][number - 1]
  if (found === undefined) throw new Error(`There should be ${number} times "and" or "or" in: ${code}`)
  return { from: found.index, to: found.index + found[0].length }
}

/** Without the connective and what stands behind it: up to the next one, the end of the brackets around it, or of the statement. */
function withoutAfter(code: string, number: number): string {
  const { from, to } = connective(code, number)
  let depth = 0
  let at = to
  for (; at < code.length; at++) {
    const rest = code.slice(at)
    if (depth === 0 && /^(?: (?:and|or|then|do|end)\b|,)/.test(rest)) break
    if (/^[({[]/.test(rest)) depth++
    if (/^[)}\]]/.test(rest) && depth-- === 0) break
  }
  return code.slice(0, from) + code.slice(at)
}

/** Without the connective and what stands before it: back to the one before, the beginning of the brackets around it, or of the expression. */
function withoutBefore(code: string, number: number): string {
  const { from, to } = connective(code, number)
  let depth = 0
  let at = from
  for (; at > 0; at--) {
    const before = code.slice(0, at)
    if (depth === 0 && /(?:\b(?:and|or|if|return) |(?<![<>=~])= |, )$/.test(before)) break
    if (/[)}\]]$/.test(before)) depth++
    if (/[({[]$/.test(before) && depth-- === 0) break
  }
  return code.slice(0, at) + code.slice(to)
}
