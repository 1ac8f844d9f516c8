/**
 * Duty: which bearer tokens are known, and who a token belongs to.
 * BEARER-1 Of a token, only its SHA-256 is kept. It is compared in constant time with that of every known token.
 * BEARER-2 A token has at least 32 characters.
 * BEARER-3 A caller is known as long as its entry stays as it is: another token under the same name, other rights or another ceiling are another caller.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { ConfigError } from '../../core/errors.ts'
import type { DeepReadonly } from '../../core/read-only.ts'
import { ceilingSchema } from './ceiling.ts'
import { type Caller, rights } from './rights.ts'

/** A token in the form that a file or an option holds. */
export const tokenEntry = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.@-]{0,62}$/, 'must be 1 to 63 letters, digits, "_", ".", "@" or "-"'),
  rights: z.array(z.enum(rights)).min(1),
  ceiling: ceilingSchema.exactOptional(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits'),
})
export type TokenEntry = DeepReadonly<z.infer<typeof tokenEntry>>

const tokenCharsMin = 32

/** An entry for a token that somebody chose. Throws a ConfigError if it is too short to be one. */
export function entryOf(token: string, { name, rights, ceiling }: Caller, where: string): TokenEntry {
  if (token.length < tokenCharsMin)
    throw new ConfigError(
      `${where} has ${token.length} characters, and a token needs at least ${tokenCharsMin}: make one with \`troupe token create\`, or with \`openssl rand -hex 32\`.`,
    )
  return { name, rights: [...rights], ...(ceiling !== undefined && { ceiling }), sha256: hash('sha256', token) }
}

/** A new token, and the entry that recognises it. The token itself is kept nowhere. */
export function newToken(caller: Caller): { readonly token: string; readonly entry: TokenEntry } {
  const token = `troupe_${randomBytes(32).toString('base64url')}`
  return { token, entry: entryOf(token, caller, 'the token') }
}

/** Reads the entries in the text of a file. Throws a ConfigError that names what is wrong. */
export function readEntries(text: string, file: string): TokenEntry[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ConfigError(`the token file ${file} is no JSON: make one with \`troupe token create\`.`, { cause })
  }
  return checkEntries(value, `the token file ${file}`)
}

/** Throws a ConfigError that names what is wrong. `where` begins the sentence. */
export function checkEntries(value: unknown, where: string): TokenEntry[] {
  const read = z.array(tokenEntry).safeParse(value)
  if (!read.success) {
    const [issue] = read.error.issues
    throw new ConfigError(`${where} cannot be read: at ${issue?.path.join('.') || 'its top'}: ${issue?.message}.`)
  }
  const names = read.data.map(({ name }) => name)
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double !== undefined) throw new ConfigError(`${where} has two tokens named ${double}.`)
  return read.data
}

interface Known {
  readonly caller: Caller
  readonly digest: Buffer
  /** The entry as a text. */
  readonly text: string
}

export class Tokens {
  #known: readonly Known[] = []

  constructor(entries: readonly TokenEntry[]) {
    this.replace(entries)
  }

  get size(): number {
    return this.#known.length
  }

  replace(entries: readonly TokenEntry[]): void {
    const before = new Map(this.#known.map((one) => [one.text, one]))
    this.#known = entries.map((entry) => {
      const { sha256, ...caller } = entry
      const text = JSON.stringify(entry)
      return before.get(text) ?? { caller, digest: Buffer.from(sha256, 'hex'), text }
    })
  }

  /** True if this caller is still known (BEARER-3). `caller`: as `callerOf` returned it. */
  knows(caller: Caller): boolean {
    return this.#known.some((one) => one.caller === caller)
  }

  /** Undefined for an unknown token. */
  callerOf(token: string): Caller | undefined {
    const digest = Buffer.from(hash('sha256', token), 'hex')
    let found: Caller | undefined
    for (const one of this.#known) if (timingSafeEqual(one.digest, digest)) found = one.caller
    return found
  }
}
