/** Duty: the published rules of each format, as checks of a text that was written: one line for each fault. */

type Fields = Readonly<Record<string, unknown>>
type Rule = (text: string) => readonly string[]

const json = (text: string) => JSON.parse(text) as never
const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as Fields[]) : [])
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Behind a reply with calls come the results of all of them, before anything else. */
function pairing(steps: readonly { readonly calls?: readonly string[]; readonly result?: string }[]): string[] {
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

const openaiChat: Rule = (text) => {
  const { messages } = json(text) as { messages: Fields[] }
  const steps = messages.map(({ role, tool_calls, tool_call_id }) =>
    role === 'tool' ? { result: String(tool_call_id) } : { calls: list(tool_calls).map(({ id }) => String(id)) },
  )
  return [
    ...pairing(steps),
    ...messages.flatMap(({ role, content, tool_calls }, at) => {
      if (role === 'assistant' && !isText(content) && list(tool_calls).length === 0) return [`message ${at} is empty`]
      if (role === 'user' && !isText(content) && list(content).length === 0) return [`message ${at} is empty`]
      if (role === 'tool' && typeof content !== 'string') return [`message ${at} has no text`]
      return list(tool_calls).flatMap(({ id, function: made }) => {
        const { name, arguments: args } = made as Fields
        return /^[\w-]{1,40}$/.test(String(id)) && /^[\w-]{1,64}$/.test(String(name)) && typeof args === 'string'
          ? []
          : [`call ${String(id)} of ${String(name)}`]
      })
    }),
  ]
}

const flat: Rule = (text) =>
  list(json(text)).flatMap((message, at) => {
    const { role, content, tool_call_id } = message
    const isRole = ['system', 'user', 'assistant', 'tool'].includes(String(role))
    const isFine = isRole && typeof content === 'string' && (role === 'tool') === isText(tool_call_id)
    return isFine && !Object.values(message).includes(null) ? [] : [`message ${at}: ${JSON.stringify(message)}`]
  })

/** Formats without rules of their own are not listed. */
export const rules: Readonly<Record<string, Rule>> = { 'openai-chat': openaiChat, flat }
