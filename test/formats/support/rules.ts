/** Duty: the published rules of each format, as checks of a text that was written: one line for each fault. */
import { modelMessageSchema } from 'ai'
import { z } from 'zod'

type Fields = Readonly<Record<string, unknown>>
type Rule = (text: string) => readonly string[]

const json = (text: string) => JSON.parse(text) as never
const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as Fields[]) : [])
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** After a reply with calls come the results of all of them, before anything else. */
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

/** A user begins, and sides alternate. */
function alternation(roles: readonly unknown[], user: string): string[] {
  return [
    ...(roles[0] === undefined || roles[0] === user ? [] : ['it does not begin with a user']),
    ...roles.flatMap((role, at) => (role === roles[at - 1] ? [`two of ${String(role)} in a row at ${at}`] : [])),
  ]
}

const isBlankText = ({ type, text }: Fields) =>
  (type === undefined || type === 'text') && typeof text === 'string' && text.trim() === ''
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)

const same = (one: readonly unknown[], other: readonly unknown[]) =>
  one.length === other.length && one.every((item) => other.includes(item))

const anthropic: Rule = (text) => {
  const { messages } = json(text) as { messages: { role: string; content: Fields[] }[] }
  const used = (at: number) =>
    list(messages[at]?.content)
      .filter(({ type }) => type === 'tool_use')
      .map(({ id }) => id)
  return [
    ...alternation(
      messages.map(({ role }) => role),
      'user',
    ),
    ...messages.flatMap(({ content }, at) => {
      const results = content.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id)
      const isPaired = same(results, used(at - 1))
      const areFirst = content.slice(0, results.length).every(({ type }) => type === 'tool_result')
      const ids = [...results, ...used(at)]
      const areFine =
        content.length > 0 &&
        !content.some(isBlankText) &&
        ids.every((id) => /^[a-zA-Z0-9_-]+$/.test(String(id))) &&
        content.every(
          ({ type, name, input }) =>
            type !== 'tool_use' || (/^[a-zA-Z0-9_-]{1,64}$/.test(String(name)) && isObject(input)),
        ) &&
        content.every(({ type, signature }) => type !== 'thinking' || isText(signature))
      return isPaired && areFirst && areFine ? [] : [`message ${at}: ${JSON.stringify(content)}`]
    }),
    ...(used(messages.length - 1).length > 0 ? ['a call at the end has no result'] : []),
  ]
}

const gemini: Rule = (text) => {
  const { contents } = json(text) as { contents: { role: string; parts: Fields[] }[] }
  const named = (at: number, field: string) =>
    list(contents[at]?.parts).flatMap((part) => (isObject(part[field]) ? [(part[field] as Fields).name] : []))
  return [
    ...alternation(
      contents.map(({ role }) => role),
      'user',
    ),
    ...contents.flatMap(({ parts }, at) => {
      const results = named(at, 'functionResponse')
      const isPaired = JSON.stringify(results) === JSON.stringify(named(at - 1, 'functionCall'))
      const areFine =
        parts.length > 0 &&
        !parts.some(isBlankText) &&
        parts.every(
          ({ functionResponse }) => functionResponse === undefined || isObject((functionResponse as Fields).response),
        ) &&
        parts.every(({ functionCall }) => functionCall === undefined || isObject((functionCall as Fields).args)) &&
        results.every((name) => /^[a-zA-Z_][\w.:-]{0,63}$/.test(String(name)))
      return isPaired && areFine ? [] : [`content ${at}: ${JSON.stringify(parts)}`]
    }),
    ...(named(contents.length - 1, 'functionCall').length > 0 ? ['a call at the end has no result'] : []),
  ]
}

const openaiResponses: Rule = (text) => {
  const { input } = json(text) as { input: Fields[] }
  const steps: { calls?: string[]; result?: string }[] = []
  for (const { type, call_id } of input) {
    const last = steps.at(-1)
    if (type === 'function_call_output') steps.push({ result: String(call_id) })
    else if (type === 'function_call' && last?.calls) last.calls.push(String(call_id))
    else if (type === 'function_call') steps.push({ calls: [String(call_id)] })
    else if (type === 'message' || type === 'reasoning') steps.push({ calls: [] })
  }
  const ofReply = ({ type, role }: Fields) => type === 'function_call' || type === 'reasoning' || role === 'assistant'
  return [
    // A reply may say something between its calls.
    ...pairing(
      steps
        .filter(({ calls, result }) => result !== undefined || (calls?.length ?? 0) > 0)
        .reduce<typeof steps>(merged, []),
    ),
    ...input.flatMap((item, at) => {
      const { type, call_id, name, id, arguments: args, role, content } = item
      if (type === 'reasoning')
        return isText(id) && input[at + 1] !== undefined && ofReply(input[at + 1] as Fields)
          ? []
          : [`reasoning at ${at}`]
      if (type === 'function_call')
        return /^[\w-]{1,64}$/.test(String(call_id)) && /^[\w-]{1,64}$/.test(String(name)) && typeof args === 'string'
          ? []
          : [`call at ${at}`]
      if (type === 'message')
        return isText(content) || (role === 'user' && list(content).length > 0) ? [] : [`message at ${at}`]
      return []
    }),
  ]
}

/** Merges the calls of one reply that stand in a row, or with a text between them. */
function merged(steps: { calls?: string[]; result?: string }[], step: { calls?: string[]; result?: string }) {
  const last = steps.at(-1)
  if (last?.calls && step.calls) last.calls.push(...step.calls)
  else steps.push(step)
  return steps
}

const ollama: Rule = (text) => {
  const { messages } = json(text) as { messages: Fields[] }
  let open: unknown[] = []
  const faults: string[] = []
  for (const [at, { role, tool_calls, tool_name, content }] of messages.entries()) {
    if (typeof content !== 'string') faults.push(`message ${at} has no text`)
    if (role === 'tool' && open.shift() !== tool_name) faults.push(`a result of ${String(tool_name)} at ${at}`)
    if (role === 'tool') continue
    if (open.length > 0) faults.push(`no result of ${open.join()}`)
    open = list(tool_calls).map(({ function: made }) => (made as Fields).name)
    if (list(tool_calls).some(({ function: made }) => !isObject((made as Fields).arguments)))
      faults.push(`arguments at ${at}`)
  }
  return open.length > 0 ? [...faults, 'no result at the end'] : faults
}

const llmCore: Rule = (text) => {
  const messages = list(json(text))
  const steps = messages.map(({ role, tool_calls, tool_call_id }) =>
    role === 'tool' ? { result: String(tool_call_id) } : { calls: list(tool_calls).map(({ id }) => String(id)) },
  )
  const isFine = ({ role, content, tool_calls }: Fields) =>
    (typeof content === 'string' || (role === 'assistant' && content === null)) &&
    list(tool_calls).every(({ name, arguments: args }) => isText(name) && isObject(args))
  return [...pairing(steps), ...messages.flatMap((message, at) => (isFine(message) ? [] : [`message ${at}`]))]
}

const isTextOrNull = (value: unknown) => value === null || typeof value === 'string'
const has = (value: unknown, ...names: readonly string[]) =>
  isObject(value) && names.every((name) => name in (value as object))

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

const amazonQ = (text: string): readonly string[] => {
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

const row = (text: string): readonly string[] => amazonQ((json(text) as { value: string }).value)

const paired: Rule = (text) => {
  const pairs = list(json(text))
  const last = pairs.at(-1)?.assistant
  return [
    ...qPairFaults(pairs),
    ...(last !== undefined && qCalls(last).length > 0 ? ['a call at the end has no result'] : []),
  ]
}

const alternating: Rule = (text) => {
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

/** Each call has its results, in the order of the calls, and each message has a time. */
const chatMessage: Rule = (text) => {
  const { messages } = json(text) as { messages: Fields[] }
  let open: unknown[] = []
  const faults: string[] = []
  for (const [at, message] of messages.entries()) {
    const { type, content, tool_calls, timestamp } = message
    if (type === 'toolCallResult') {
      const { Ok, Err } = message as Record<string, Fields>
      if ((Ok ?? Err)?.id !== open.shift()) faults.push(`a result at ${at}`)
      if (
        Ok !== undefined &&
        !(typeof Ok.result === 'string' && typeof Ok.arguments === 'string' && typeof Ok.name === 'string')
      )
        faults.push(`Ok at ${at}`)
      if (Err !== undefined && !(typeof Err.error === 'string' && isTextOrNull(Err.arguments)))
        faults.push(`Err at ${at}`)
      continue
    }
    if (open.length > 0) faults.push(`no result before ${at}`)
    if (!/^\d{4}-.*\+00:00$/.test(String(timestamp))) faults.push(`no time at ${at}`)
    if (type !== 'assistant') continue
    const calls = Array.isArray(content) ? list(content).filter((block) => block.type === 'toolCall') : list(tool_calls)
    if (
      !Array.isArray(content) &&
      !(typeof content === 'string' && Array.isArray(tool_calls) && isObject(message.reasoning))
    )
      faults.push(`reply at ${at}`)
    if (calls.some((call) => typeof call.arguments !== 'string' || typeof call.name !== 'string'))
      faults.push(`call at ${at}`)
    open = calls.map(({ id }) => id)
  }
  return open.length > 0 ? [...faults, 'no result at the end'] : faults
}

const chatMessageLog: Rule = (text) => {
  const [head, ...events] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Fields)
  const names = events.flatMap(({ data }) => (typeof data === 'string' ? [data] : Object.keys(data as object)))
  let open = 0
  const faults = has(head, 'sessionId', 'cwd', 'model', 'createdAt') ? [] : ['no head']
  for (const name of names) {
    if (name === 'ToolCall') open++
    else if (name === 'ToolResult' || name === 'ToolError') open--
    else if (name === 'Done' && open !== 0) faults.push('a reply ends with open calls')
  }
  return open === 0 ? faults : [...faults, 'open calls at the end']
}

const aiSdk: Rule = (text) => {
  const messages = list(json(text))
  const steps = messages.flatMap(({ role, content }): readonly { calls?: string[]; result?: string }[] =>
    role === 'tool'
      ? list(content).map(({ toolCallId }) => ({ result: String(toolCallId) }))
      : [
          {
            calls: list(content)
              .filter(({ type }) => type === 'tool-call')
              .map(({ toolCallId }) => String(toolCallId)),
          },
        ],
  )
  const { success, error } = z.array(modelMessageSchema).safeParse(messages)
  return [...pairing(steps), ...(success ? [] : [String(error)])]
}

const agentEnv: Rule = (text) => {
  const events = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Fields)
  let job: unknown = null
  return events.flatMap(({ type, worker_id, job_id, timestamp }, at) => {
    const isOfJob = !['worker_created', 'prompt_received'].includes(String(type))
    const isFine =
      typeof timestamp === 'number' && /^[0-9a-f-]{36}$/.test(String(worker_id)) && isOfJob === (job_id !== undefined)
    if (type === 'job_started') job = job_id
    const isOpen = !isOfJob || job_id === job
    if (type === 'job_completed') job = null
    return isFine && isOpen ? [] : [`event ${at}: ${String(type)}`]
  })
}

const fsm: Rule = (text) => {
  const { id, message_pool, branches, active_branch_name } = json(text) as {
    id: string
    message_pool: Record<string, { id: string; parent_id: string | null; message: Fields }>
    branches: Record<string, { message_ids: string[] }>
    active_branch_name: string
  }
  const ids = branches[active_branch_name]?.message_ids ?? []
  const messages = ids.map((one) => message_pool[one]?.message)
  const steps = messages.map((message) =>
    message?.role === 'Tool'
      ? { result: String((message.tool_result as Fields).request_id) }
      : { calls: list(message?.tool_calls).map((call) => String(call.id)) },
  )
  const isWhole =
    [id, ...ids].every((one) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(one)) &&
    new Set(ids).size === ids.length
  const isTree = ids.every(
    (one, at) => message_pool[one]?.id === one && message_pool[one].parent_id === (ids[at - 1] ?? null),
  )
  const areRoles = messages.every(
    (message) =>
      ['System', 'User', 'Assistant', 'Tool'].includes(String(message?.role)) && Array.isArray(message?.content),
  )
  return [...pairing(steps), ...(isWhole && isTree && areRoles ? [] : ['the tree of messages'])]
}

/** Formats without rules of their own are not listed. */
export const rules: Readonly<Record<string, Rule>> = {
  'agent-env': agentEnv,
  'ai-sdk': aiSdk,
  alternating,
  'amazon-q': amazonQ,
  'amazon-q-row': row,
  anthropic,
  'chat-message': chatMessage,
  'chat-message-blocks': chatMessage,
  'chat-message-log': chatMessageLog,
  flat,
  fsm,
  'fsm-snake': fsm,
  gemini,
  'kiro-row': row,
  'llm-core': llmCore,
  ollama,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  paired,
}
