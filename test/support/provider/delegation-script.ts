/**
 * What the fake model says, as a function of the conversation alone: a root with tools delegates to two mids, each of which
 * delegates to two leaves with tools; all end with a number that only the right results give.
 */
import { type WireMessage, wireText } from './provider-journal.ts'

export interface ScriptInput {
  readonly n: number
  /** Where the node dies, once, as `<kind>/<tool or step>/<when>`. */
  readonly plan: string
}

export interface ScriptCall {
  readonly name: string
  readonly args: unknown
}

export type ScriptReply = { readonly text: string } | { readonly calls: readonly ScriptCall[] }

/** The number that the root of `n` ends with. */
export function delegationResult(n: number): string {
  return `value ${9 * n + 45}`
}

export function stepOf(messages: readonly WireMessage[]): number {
  return messages.filter(({ role }) => role === 'assistant').length
}

export function inputOf(messages: readonly WireMessage[]): ScriptInput {
  const user = messages.find(({ role }) => role === 'user')
  // A line before it names the worker that sent it, if one did.
  return JSON.parse((user ? wireText(user) : '').replace(/^\[.*\]\n/, '')) as ScriptInput
}

export function replyOf(kind: string, messages: readonly WireMessage[]): ScriptReply {
  const step = stepOf(messages)
  const { n, plan } = inputOf(messages)
  const call = (name: string, number = 0) => ({ name, args: { label: `${step}.${number}`, plan } })
  const add = (b: number) => ({ name: 'add', args: { a: n, b, plan } })
  const spawn = (child: string, values: readonly number[]) => ({
    name: 'spawn_workers',
    args: { tasks: values.map((value) => ({ kind: child, input: { n: value, plan } })) },
  })
  const scripts: Record<string, (() => ScriptReply)[]> = {
    root: [
      () => ({ calls: [call('stamp'), call('put', 1), add(1)] }),
      () => ({ calls: [spawn('mid', [n, n + 1])] }),
      () => ({ calls: [call('mail')] }),
      () => ({ text: `value ${sumOf(messages)}` }),
    ],
    mid: [
      () => ({ calls: [call('put')] }),
      () => ({ calls: [spawn('leaf', [n, n + 10])] }),
      () => ({ text: `value ${sumOf(messages)}` }),
    ],
    leaf: [
      () => ({ calls: [call('stamp'), add(n)] }),
      () => ({ calls: [call('mail'), call('put', 1)] }),
      () => ({ text: `value ${sumOf(messages)}` }),
    ],
    // One call whose outcome may be unknown; the last words quote what the model was told of it.
    single: [() => ({ calls: [call('once')] }), () => ({ text: `told ${wireText(messages.at(-1) as WireMessage)}` })],
    double: [() => ({ calls: [call('once'), call('linger', 1)] }), () => ({ text: 'went on' })],
    broken: [() => ({ calls: [call('break'), call('linger', 1)] }), () => ({ text: 'went on' })],
  }
  const reply = scripts[kind.replace(/-.*/, '')]?.[step]
  if (!reply) throw new Error(`${kind} has no step ${step}`)
  return reply()
}

/** The sum of what `add` and the children gave. */
function sumOf(messages: readonly WireMessage[]): number {
  const names = new Map(
    messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map((call) => [call.id, call.function.name] as const)),
  )
  let sum = 0
  for (const message of messages) {
    const name = names.get(message.tool_call_id ?? '')
    if (name === 'add') sum += Number(wireText(message))
    if (name !== 'spawn_workers') continue
    for (const [, value] of wireText(message).matchAll(/"summary":\s*"value (\d+)"/g)) sum += Number(value)
  }
  return sum
}
