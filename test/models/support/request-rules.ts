/**
 * Duty: the published rules of each provider for the body of a request, as checks: one line for each fault.
 * They are stricter than some models of a provider are: what any of its models refuses is a fault.
 */
type Fields = Readonly<Record<string, unknown>>
type Check = (body: Fields) => readonly string[]

const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as Fields[]) : [])
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isSaid = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
const same = (one: readonly unknown[], other: readonly unknown[]) => JSON.stringify(one) === JSON.stringify(other)
const isJsonObject = (text: unknown) => {
  try {
    return isObject(JSON.parse(String(text)))
  } catch {
    return false
  }
}
const isBase64 = (value: unknown) => typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value)
const isAddress = (value: unknown) =>
  typeof value === 'string' && /^(https?:\/\/|data:[\w.+*-]+\/[\w.+*-]+;base64,[A-Za-z0-9+/]+={0,2}$)/.test(value)
const commonImage = /^image\/(png|jpeg|gif|webp)$/

/** No id stands twice as a call, or twice as a result. */
function twice(ids: readonly unknown[]): string[] {
  return new Set(ids).size === ids.length ? [] : [`an id of a call twice: ${ids.join()}`]
}

/** A user begins, and sides alternate. The last word is not the model's. */
function alternation(roles: readonly unknown[]): string[] {
  return [
    ...(roles[0] === 'user' ? [] : ['it does not begin with a user']),
    ...(roles.at(-1) === 'user' ? [] : ['it does not end with a user']),
    ...roles.flatMap((role, at) => (role === roles[at - 1] ? [`two of ${String(role)} in a row at ${at}`] : [])),
  ]
}

/** Names of tools and schemas of their arguments. */
function toolFaults(tools: readonly { readonly name: unknown; readonly schema: unknown }[], name: RegExp): string[] {
  return tools.flatMap((tool) =>
    name.test(String(tool.name)) && isObject(tool.schema) && tool.schema.type === 'object'
      ? []
      : [`tool ${String(tool.name)}`],
  )
}

function chatPartFaults(part: Fields, at: number): string[] {
  const { type, text, image_url, input_audio, file } = part
  if (type === 'text') return isSaid(text) ? [] : [`a blank text at ${at}`]
  if (type === 'image_url') return isAddress((image_url as Fields)?.url) ? [] : [`an image at ${at}`]
  if (type === 'input_audio') {
    const { data, format } = (input_audio ?? {}) as Fields
    return isBase64(data) && /^(wav|mp3)$/.test(String(format)) ? [] : [`an audio at ${at}`]
  }
  if (type === 'file') {
    const { file_data, file_id, filename } = (file ?? {}) as Fields
    return isSaid(file_id) || (isAddress(file_data) && isSaid(filename)) ? [] : [`a file at ${at}`]
  }
  return [`a part of type ${String(type)} at ${at}`]
}

const openaiChat: Check = ({ messages, tools }) => {
  const faults: string[] = []
  const all: unknown[] = []
  let open: unknown[] = []
  for (const [at, message] of list(messages).entries()) {
    const { role, content, tool_calls, tool_call_id } = message
    if (role === 'tool') {
      if (open[0] === tool_call_id) open.shift()
      else faults.push(`a result of ${String(tool_call_id)} at ${at}, which is not open`)
      if (typeof content !== 'string' && !list(content).every(({ type, text }) => type === 'text' && isSaid(text)))
        faults.push(`a result without text at ${at}`)
      continue
    }
    if (open.length > 0) faults.push(`no result of ${open.join()} before ${at}`)
    const calls = list(tool_calls)
    open = calls.map(({ id }) => id)
    all.push(...open)
    if (role === 'assistant') {
      if (!isSaid(content) && calls.length === 0) faults.push(`an empty reply at ${at}`)
      for (const { id, type, function: made } of calls) {
        const { name, arguments: args } = (made ?? {}) as Fields
        const isFine = typeof id === 'string' && id.length >= 1 && id.length <= 40 && type === 'function'
        if (!isFine || !/^[\w-]{1,64}$/.test(String(name)) || !isJsonObject(args))
          faults.push(`call ${String(id)} of ${String(name)} at ${at}`)
      }
    } else if (role === 'user') {
      if (!isSaid(content) && list(content).length === 0) faults.push(`an empty message at ${at}`)
      for (const part of list(content)) faults.push(...chatPartFaults(part, at))
    } else if (role !== 'system' && role !== 'developer') faults.push(`the role ${String(role)} at ${at}`)
    else if (!isSaid(content)) faults.push(`blank instructions at ${at}`)
  }
  if (open.length > 0) faults.push(`no result of ${open.join()} at the end`)
  if (list(messages).at(-1)?.role === 'assistant') faults.push('it ends with a reply')
  const specs = list(tools).map(({ function: made }) => made as Fields)
  return [
    ...faults,
    ...twice(all),
    ...toolFaults(
      specs.map(({ name, parameters }) => ({ name, schema: parameters })),
      /^[\w-]{1,64}$/,
    ),
  ]
}

function responsesPartFaults(part: Fields, at: number): string[] {
  const { type, text, image_url, file_id, file_url, file_data, filename } = part
  if (type === 'input_text' || type === 'output_text') return isSaid(text) ? [] : [`a blank text at ${at}`]
  if (type === 'input_image') return isAddress(image_url) || isSaid(file_id) ? [] : [`an image at ${at}`]
  if (type === 'input_file')
    return isSaid(file_id) || isAddress(file_url) || (isAddress(file_data) && isSaid(filename))
      ? []
      : [`a file at ${at}`]
  return [`a part of type ${String(type)} at ${at}`]
}

const openaiResponses: Check = ({ input, tools, store }) => {
  const items = list(input)
  const faults: string[] = []
  const calls: unknown[] = []
  const ids: unknown[] = []
  let open: unknown[] = []
  for (const [at, item] of items.entries()) {
    const { type, role, content, call_id, name, arguments: args, output, id } = item
    if (id !== undefined) ids.push(id)
    if (type === 'function_call_output') {
      if (open.includes(call_id)) open = open.filter((one) => one !== call_id)
      else faults.push(`a result of ${String(call_id)} at ${at}, which is not open`)
      if (typeof output !== 'string' && list(output).length === 0) faults.push(`a result without output at ${at}`)
    } else if (type === 'function_call') {
      calls.push(call_id)
      open.push(call_id)
      const isFine = typeof call_id === 'string' && call_id.length >= 1 && call_id.length <= 64
      if (!isFine || !/^[\w-]{1,64}$/.test(String(name)) || !isJsonObject(args))
        faults.push(`call ${String(call_id)} at ${at}`)
    } else if (type === 'reasoning') {
      const next = items[at + 1]
      const isFollowed = next?.type === 'reasoning' || next?.type === 'function_call' || next?.role === 'assistant'
      if (!isSaid(id) || !isFollowed || (store === false && !isSaid(item.encrypted_content)))
        faults.push(`reasoning at ${at}`)
    } else if (type === 'item_reference') {
      if (store === false || !isSaid(id)) faults.push(`a reference at ${at}`)
    } else if (role === 'user' || role === 'assistant' || role === 'system' || role === 'developer') {
      if (role !== 'assistant' && open.length > 0) faults.push(`no result of ${open.join()} before ${at}`)
      if (typeof content === 'string' ? !isSaid(content) : list(content).length === 0)
        faults.push(`an empty message at ${at}`)
      for (const part of list(content)) faults.push(...responsesPartFaults(part, at))
    } else faults.push(`an item of type ${String(type)} at ${at}`)
  }
  if (open.length > 0) faults.push(`no result of ${open.join()} at the end`)
  if (items.at(-1)?.role === 'assistant') faults.push('it ends with a reply')
  return [
    ...faults,
    ...twice(calls),
    ...twice(ids),
    ...toolFaults(
      list(tools).map(({ name, parameters }) => ({ name, schema: parameters })),
      /^[\w-]{1,64}$/,
    ),
  ]
}

function anthropicPartFaults(block: Fields, at: number): string[] {
  const { type, text, id, name, input, tool_use_id, content, source, signature } = block
  const isId = (value: unknown) => /^[a-zA-Z0-9_-]+$/.test(String(value))
  switch (type) {
    case 'text':
      return isSaid(text) ? [] : [`a blank text at ${at}`]
    case 'tool_use':
      return isId(id) && /^[a-zA-Z0-9_-]{1,128}$/.test(String(name)) && isObject(input)
        ? []
        : [`call ${String(id)} at ${at}`]
    case 'tool_result': {
      const isFine =
        isId(tool_use_id) && (typeof content === 'string' || list(content).length > 0 || content === undefined)
      return [...(isFine ? [] : [`a result at ${at}`]), ...list(content).flatMap((one) => anthropicPartFaults(one, at))]
    }
    case 'thinking':
      return isSaid(signature) ? [] : [`reasoning without a signature at ${at}`]
    case 'redacted_thinking':
      return []
    case 'image':
    case 'document': {
      const { type: form, media_type, data, url } = (source ?? {}) as Fields
      if (form === 'url') return isAddress(url) ? [] : [`a medium at ${at}`]
      if (form === 'text') return isSaid(data) ? [] : [`a document at ${at}`]
      const isType = type === 'image' ? commonImage.test(String(media_type)) : media_type === 'application/pdf'
      return isType && isBase64(data) ? [] : [`a medium of type ${String(media_type)} at ${at}`]
    }
    default:
      return [`a block of type ${String(type)} at ${at}`]
  }
}

const anthropic: Check = ({ messages, tools, system }) => {
  const all = list(messages)
  const idsOf = (at: number, type: string, field: string) =>
    list(all[at]?.content)
      .filter((block) => block.type === type)
      .map((block) => block[field])
  const used = all.flatMap((_, at) => idsOf(at, 'tool_use', 'id'))
  return [
    ...alternation(all.map(({ role }) => role)),
    ...all.flatMap(({ content }, at) => {
      const blocks = list(content)
      const results = idsOf(at, 'tool_result', 'tool_use_id')
      const isPaired = same(results, idsOf(at - 1, 'tool_use', 'id'))
      const areFirst = blocks.slice(0, results.length).every(({ type }) => type === 'tool_result')
      return [
        ...(blocks.length > 0 ? [] : [`an empty message at ${at}`]),
        ...(isPaired ? [] : [`results at ${at} that do not match the calls before them`]),
        ...(areFirst ? [] : [`results that do not come first at ${at}`]),
        ...(blocks.at(-1)?.type === 'thinking' ? [`reasoning at the end of ${at}`] : []),
        ...blocks.flatMap((block) => anthropicPartFaults(block, at)),
      ]
    }),
    ...list(system).flatMap(({ text }) => (isSaid(text) ? [] : ['blank instructions'])),
    ...twice(used),
    ...(used.length > 0 && list(tools).length === 0 ? ['calls, and no tools'] : []),
    ...toolFaults(
      list(tools).map(({ name, input_schema }) => ({ name, schema: input_schema })),
      /^[a-zA-Z0-9_-]{1,128}$/,
    ),
  ]
}

function bedrockBlockFaults(block: Fields, at: number): string[] {
  const { text, toolUse, toolResult, image, document, reasoningContent, cachePoint } = block as Record<
    string,
    Fields & string
  >
  const isId = (value: unknown) => /^[a-zA-Z0-9_-]{1,64}$/.test(String(value))
  if (text !== undefined) return isSaid(text) ? [] : [`a blank text at ${at}`]
  if (toolUse !== undefined)
    return isId(toolUse.toolUseId) && isId(toolUse.name) && isObject(toolUse.input)
      ? []
      : [`call ${String(toolUse.toolUseId)} at ${at}`]
  if (toolResult !== undefined) {
    const content = list(toolResult.content)
    return content.length > 0 && isId(toolResult.toolUseId)
      ? content.flatMap((one) => ('json' in one ? [] : bedrockBlockFaults(one, at)))
      : [`a result at ${at}`]
  }
  if (image !== undefined)
    return /^(png|jpeg|gif|webp)$/.test(String(image.format)) && isBase64((image.source as Fields)?.bytes)
      ? []
      : [`an image at ${at}`]
  if (document !== undefined)
    return /^(pdf|csv|doc|docx|xls|xlsx|html|txt|md)$/.test(String(document.format)) &&
      /^[A-Za-z0-9 ()[\]-]{1,200}$/.test(String(document.name)) &&
      isBase64((document.source as Fields)?.bytes)
      ? []
      : [`a document at ${at}`]
  if (reasoningContent !== undefined) {
    const { reasoningText, redactedReasoning } = reasoningContent as unknown as Record<string, Fields>
    return isSaid(reasoningText?.signature) || isSaid(redactedReasoning?.data) ? [] : [`reasoning at ${at}`]
  }
  return cachePoint !== undefined ? [] : [`a block ${JSON.stringify(block)} at ${at}`]
}

const bedrock: Check = ({ messages, system, toolConfig }) => {
  const all = list(messages)
  const idsOf = (at: number, field: string) =>
    list(all[at]?.content).flatMap((block) => (isObject(block[field]) ? [block[field].toolUseId] : []))
  const used = all.flatMap((_, at) => idsOf(at, 'toolUse'))
  const tools = list((toolConfig as Fields | undefined)?.tools).map(({ toolSpec }) => toolSpec as Fields)
  return [
    ...alternation(all.map(({ role }) => role)),
    ...all.flatMap(({ content }, at) => {
      const blocks = list(content)
      const hasDocument = blocks.some(({ document }) => document !== undefined)
      return [
        ...(blocks.length > 0 ? [] : [`an empty message at ${at}`]),
        ...(same(idsOf(at, 'toolResult'), idsOf(at - 1, 'toolUse'))
          ? []
          : [`results at ${at} that do not match the calls before them`]),
        ...(hasDocument && !blocks.some(({ text }) => text !== undefined)
          ? [`a document without a text at ${at}`]
          : []),
        ...blocks.flatMap((block) => bedrockBlockFaults(block, at)),
      ]
    }),
    ...list(system).flatMap(({ text, cachePoint }) => (isSaid(text) || cachePoint ? [] : ['blank instructions'])),
    ...twice(used),
    ...(used.length > 0 && tools.length === 0 ? ['calls, and no tools'] : []),
    ...toolFaults(
      tools.map(({ name, inputSchema }) => ({ name, schema: (inputSchema as Fields)?.json })),
      /^[a-zA-Z0-9_-]{1,64}$/,
    ),
  ]
}

const geminiName = /^[a-zA-Z_][\w.:-]{0,63}$/

function geminiPartFaults(part: Fields, at: number): string[] {
  const { text, functionCall, functionResponse, inlineData, fileData, thought, thoughtSignature } = part
  // A signature may come with an empty text.
  if (text !== undefined)
    return isSaid(text) || isSaid(thoughtSignature) || thought === true ? [] : [`a blank text at ${at}`]
  if (isObject(functionCall))
    return geminiName.test(String(functionCall.name)) && isObject(functionCall.args)
      ? []
      : [`call of ${String(functionCall.name)} at ${at}`]
  if (isObject(functionResponse))
    return geminiName.test(String(functionResponse.name)) && isObject(functionResponse.response)
      ? []
      : [`a result of ${String(functionResponse.name)} at ${at}`]
  if (isObject(inlineData))
    return isBase64(inlineData.data) && /^[\w.+-]+\/[\w.+-]+$/.test(String(inlineData.mimeType))
      ? []
      : [`a medium of type ${String(inlineData.mimeType)} at ${at}`]
  if (isObject(fileData)) return isAddress(fileData.fileUri) ? [] : [`a file at ${at}`]
  return [`a part ${JSON.stringify(part)} at ${at}`]
}

/** Contents of one role may follow each other, but between calls and their results stands nothing. */
const gemini: Check = ({ contents, systemInstruction, tools }) => {
  const all = list(contents)
  const roles = all.map(({ role }) => role)
  const named = (at: number, field: string) =>
    list(all[at]?.parts).flatMap((part) => (isObject(part[field]) ? [part[field].name] : []))
  return [
    ...(roles[0] === 'user' && roles.at(-1) === 'user' ? [] : ['it does not begin and end with a user']),
    ...roles.flatMap((role, at) =>
      role === 'user' || (role === 'model' && roles[at - 1] === 'user') ? [] : [`a ${String(role)} at ${at}`],
    ),
    ...all.flatMap(({ parts }, at) => [
      ...(list(parts).length > 0 ? [] : [`an empty content at ${at}`]),
      ...(same(named(at, 'functionResponse'), named(at - 1, 'functionCall'))
        ? []
        : [`results at ${at} that do not match the calls before them`]),
      ...list(parts).flatMap((part) => geminiPartFaults(part, at)),
    ]),
    ...list((systemInstruction as Fields | undefined)?.parts).flatMap(({ text }) =>
      isSaid(text) ? [] : ['blank instructions'],
    ),
    ...list(tools).flatMap(({ functionDeclarations }) =>
      list(functionDeclarations).flatMap(({ name }) => (geminiName.test(String(name)) ? [] : [`tool ${String(name)}`])),
    ),
  ]
}

/** Half a surrogate pair is no text in any protocol. */
const wellFormed: Check = (body) => (/\\ud[89a-f]/i.test(JSON.stringify(body)) ? ['half a character'] : [])

const checks = { openaiChat, openaiResponses, anthropic, bedrock, gemini }

export type Protocol = keyof typeof checks

/** The reasons for which a provider of this protocol would refuse the request. */
export function requestFaults(protocol: Protocol, body: unknown): readonly string[] {
  return [...checks[protocol](body as Fields), ...wellFormed(body as Fields)]
}
