/** The rules of what other programs keep as lists, events or trees. */
import { type Fields, has, isObject, isText, isTextOrNull, json, list, pairing, type Rule } from './rule.ts'

export const flat: Rule = (text) =>
  list(json(text)).flatMap((message, at) => {
    const { role, content, tool_call_id } = message
    const isRole = ['system', 'user', 'assistant', 'tool'].includes(String(role))
    const isFine = isRole && typeof content === 'string' && (role === 'tool') === isText(tool_call_id)
    return isFine && !Object.values(message).includes(null) ? [] : [`message ${at}: ${JSON.stringify(message)}`]
  })

export const llmCore: Rule = (text) => {
  const messages = list(json(text))
  const steps = messages.map(({ role, tool_calls, tool_call_id }) =>
    role === 'tool' ? { result: String(tool_call_id) } : { calls: list(tool_calls).map(({ id }) => String(id)) },
  )
  const isFine = ({ role, content, tool_calls }: Fields) =>
    (typeof content === 'string' || (role === 'assistant' && content === null)) &&
    list(tool_calls).every(({ name, arguments: args }) => isText(name) && isObject(args))
  return [...pairing(steps), ...messages.flatMap((message, at) => (isFine(message) ? [] : [`message ${at}`]))]
}

/** Each call has its results, in the order of the calls, and each message has a time. */
export const chatMessage: Rule = (text) => {
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

export const chatMessageLog: Rule = (text) => {
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

export const agentEnv: Rule = (text) => {
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

export const fsm: Rule = (text) => {
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
