/** A rule, and what rules have in common: a reader of what was written, and what must follow what. */
export type Fields = Readonly<Record<string, unknown>>

export type Rule = (text: string) => readonly string[]

export const json = (text: string) => JSON.parse(text) as never

export const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as Fields[]) : [])

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** After a reply with calls come the results of all of them, before anything else. */
export function pairing(steps: readonly { readonly calls?: readonly string[]; readonly result?: string }[]): string[] {
  const faults: string[] = []
  let open: string[] = []
  for (const { calls, result } of steps) {
    if (result !== undefined) {
      if (open.includes(result)) open.splice(open.indexOf(result), 1)
      else faults.push(`a result of ${result}, which is not open`)
      continue
    }
    if (open.length > 0) faults.push(`no result of ${open.join()}`)
    open = [...(calls ?? [])]
    if (new Set(open).size !== open.length) faults.push('an id of a call twice')
  }
  return open.length > 0 ? [...faults, `no result of ${open.join()} at the end`] : faults
}

/** A user begins, and sides alternate. */
export function alternation(roles: readonly unknown[], user: string): string[] {
  return [
    ...(roles[0] === undefined || roles[0] === user ? [] : ['it does not begin with a user']),
    ...roles.flatMap((role, at) => (role === roles[at - 1] ? [`two of ${String(role)} in a row at ${at}`] : [])),
  ]
}

export const isBlankText = ({ type, text }: Fields) =>
  (type === undefined || type === 'text') && typeof text === 'string' && text.trim() === ''

export const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)

export const same = (one: readonly unknown[], other: readonly unknown[]) =>
  one.length === other.length && one.every((item) => other.includes(item))

export const isTextOrNull = (value: unknown) => value === null || typeof value === 'string'

export const has = (value: unknown, ...names: readonly string[]) =>
  isObject(value) && names.every((name) => name in (value as object))
