/**
 * Duty: what goes with an input that nobody said: when it came, and facts that the kind asks its functions for. It is recorded with the input, so the
 * prompts of later turns have it as it was.
 */
import type { ContextSettings } from '../../../core/definition/agent/context-settings.ts'
import { redactData } from '../../../core/secret/redact.ts'
import { brief } from '../../tool/messages.ts'
import type { AgentTurn } from '../agent-turn.ts'
import { runHook } from '../hook/run-hook.ts'

const factBytesMax = 20_000

/** Null for a kind whose inputs are sent as they are. */
export function inputContextOf(context: ContextSettings | undefined): ContextSettings | null {
  if (context === undefined || (context.time !== true && Object.keys(context.facts ?? {}).length === 0)) return null
  return context
}

/** Undefined if there is nothing. */
export async function inputContext(agentTurn: AgentTurn, context: ContextSettings): Promise<string | undefined> {
  const { facts = {} } = context
  const time = timeContext(context)
  const parts = time === undefined ? [] : [time]
  const asked = Object.entries(facts).map(async ([name, fact]) => {
    const end = await runHook(agentTurn, `context.facts.${name}`, 'the fact was left out', fact)
    const text = end.kind === 'returned' && typeof end.value === 'string' ? end.value.toWellFormed().trim() : ''
    return text === '' ? [] : [`[${brief(name)}]\n${cut(redactData(text))}`]
  })
  parts.push(...(await Promise.all(asked)).flat())
  return parts.length === 0 ? undefined : parts.join('\n\n')
}

/** The context of an input that joins a run: when it came. Facts go with the input that begins a run. */
export function timeContext(context: ContextSettings | undefined): string | undefined {
  return context?.time === true ? `Current time: ${timeText(new Date())}` : undefined
}

/** Day of the week, and RFC 3339 with milliseconds and offset, where the node is. */
export function timeText(now: Date): string {
  const minutes = -now.getTimezoneOffset()
  const local = new Date(now.getTime() + minutes * 60_000).toISOString().slice(0, -1)
  const two = (number: number) => String(number).padStart(2, '0')
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const day = now.toLocaleDateString('en-US', { weekday: 'long' })
  return `${day}, ${local}${minutes < 0 ? '-' : '+'}${two(hours)}:${two(rest)}`
}

function cut(text: string): string {
  return text.length <= factBytesMax ? text : `${text.slice(0, factBytesMax).toWellFormed()} … (cut)`
}
