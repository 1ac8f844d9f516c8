/** The published rules of providers. */
import { modelMessageSchema } from 'ai'
import { z } from 'zod'
import {
  alternation,
  type Fields,
  isBlankText,
  isObject,
  isText,
  json,
  list,
  pairing,
  type Rule,
  same,
} from './rule.ts'

/** The data of any-history.ts begin as their format does. */
const isTakenAudio = ({ format, data }: Fields) => format === (String(data).startsWith('UklGR') ? 'wav' : 'mp3')

export const openaiChat: Rule = (text) => {
  const { messages } = json(text) as { messages: Fields[] }
  const steps = messages.map(({ role, tool_calls, tool_call_id }) =>
    role === 'tool' ? { result: String(tool_call_id) } : { calls: list(tool_calls).map(({ id }) => String(id)) },
  )
  return [
    ...pairing(steps),
    ...messages.flatMap(({ role, content, tool_calls }, at) => {
      if (role === 'assistant' && !isText(content) && list(tool_calls).length === 0) return [`message ${at} is empty`]
      if (role === 'user' && !isText(content) && list(content).length === 0) return [`message ${at} is empty`]
      if (list(content).some(({ type, input_audio }) => type === 'input_audio' && !isTakenAudio(input_audio as Fields)))
        return [`message ${at} has other audio than it says`]
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

const isTakenImage = ({ type, media_type }: Fields) =>
  type !== 'base64' || /^image\/(?:png|jpeg|gif|webp)$/.test(String(media_type))

export const anthropic: Rule = (text) => {
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
        content.every(({ type, signature }) => type !== 'thinking' || isText(signature)) &&
        !String(content.at(-1)?.type).endsWith('thinking') &&
        content.every(({ type, source }) => type !== 'image' || isTakenImage(source as Fields))
      return isPaired && areFirst && areFine ? [] : [`message ${at}: ${JSON.stringify(content)}`]
    }),
    ...(used(messages.length - 1).length > 0 ? ['a call at the end has no result'] : []),
  ]
}

export const gemini: Rule = (text) => {
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

export const openaiResponses: Rule = (text) => {
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

export const ollama: Rule = (text) => {
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

export const aiSdk: Rule = (text) => {
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
