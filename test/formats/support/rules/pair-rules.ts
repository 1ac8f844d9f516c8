/** The rules of formats that keep pairs of a user and an assistant. */
import { alternation, type Fields, has, isText, json, list, type Rule, same } from './rule.ts'

/** The results of a user's side, and the calls of an assistant's side. */
const qResults = (user: unknown) => {
  const { ToolUseResults, CancelledToolUses } = (user as { content: Record<string, Fields> }).content
  return list((ToolUseResults ?? CancelledToolUses)?.tool_use_results).map(({ tool_use_id }) => tool_use_id)
}

const qCalls = (assistant: unknown) => list((assistant as { ToolUse?: Fields }).ToolUse?.tool_uses).map(({ id }) => id)

function qUserFaults(user: unknown, calls: readonly unknown[]): string[] {
  const isForm = has(user, 'additional_context', 'env_context', 'content', 'timestamp', 'images')
  if (!isForm) return [`a user without its fields: ${JSON.stringify(user)}`]
  const { Prompt, CancelledToolUses } = (user as { content: Record<string, Fields> }).content
  const prompt = Prompt ?? CancelledToolUses
  const isSaid = prompt === undefined || isText(prompt.prompt)
  return isSaid && same(qResults(user), calls) ? [] : [`a user's side: ${JSON.stringify((user as Fields).content)}`]
}

function qAssistantFaults(assistant: unknown): string[] {
  const { ToolUse, Response } = assistant as Record<string, Fields>
  const body = ToolUse ?? Response
  const uses = list(ToolUse?.tool_uses)
  const areWhole = uses.every((use) => has(use, 'id', 'name', 'orig_name', 'args', 'orig_args'))
  const isFine = has(body, 'message_id', 'content') && typeof body?.content === 'string' && areWhole
  return isFine && (ToolUse === undefined) === (uses.length === 0)
    ? []
    : [`an assistant's side: ${JSON.stringify(assistant)}`]
}

function qPairFaults(pairs: readonly Fields[]): string[] {
  return pairs.flatMap(({ user, assistant }, at) => {
    const before = pairs[at - 1]?.assistant
    return [...qUserFaults(user, before === undefined ? [] : qCalls(before)), ...qAssistantFaults(assistant)]
  })
}

export const amazonQ = (text: string): readonly string[] => {
  const state = json(text) as Fields
  const names = [
    'conversation_id',
    'next_message',
    'history',
    'valid_history_range',
    'transcript',
    'tools',
    'context_manager',
    'latest_summary',
    'mcp_enabled',
  ]
  const history = list(state.history)
  const last = history.at(-1)?.assistant
  const open = last === undefined ? [] : qCalls(last)
  return [
    ...(has(state, ...names) && /^[0-9a-f-]{36}$/.test(String(state.conversation_id)) ? [] : ['a field is missing']),
    ...qPairFaults(history),
    ...history.flatMap((pair) => (has(pair, 'request_metadata') ? [] : ['a pair without metadata'])),
    ...(state.next_message === null
      ? open.length > 0
        ? ['a call at the end has no result']
        : []
      : qUserFaults(state.next_message, open)),
  ]
}

export const row = (text: string): readonly string[] => amazonQ((json(text) as { value: string }).value)

export const paired: Rule = (text) => {
  const pairs = list(json(text))
  const last = pairs.at(-1)?.assistant
  return [
    ...qPairFaults(pairs),
    ...(last !== undefined && qCalls(last).length > 0 ? ['a call at the end has no result'] : []),
  ]
}

export const alternating: Rule = (text) => {
  const { entries } = json(text) as { entries: Fields[] }
  const calls = entries.flatMap(({ assistant }) => (assistant === null ? [] : qCalls(assistant)))
  return [
    ...alternation(
      entries.map(({ user }) => (user === null ? 'assistant' : 'user')),
      'user',
    ),
    ...entries.flatMap(({ user, assistant }, at) => {
      if ((user === null) === (assistant === null)) return [`entry ${at} has not one side`]
      const before = entries[at - 1]?.assistant
      return user === null ? qAssistantFaults(assistant) : qUserFaults(user, before ? qCalls(before) : [])
    }),
    ...(same(
      calls,
      entries.flatMap(({ user }) => (user === null ? [] : qResults(user))),
    )
      ? []
      : ['a call has no result']),
  ]
}
