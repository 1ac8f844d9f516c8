import type { Format, Text } from '../format.ts'
import type { Foreign } from '../parts/foreign.ts'
import { haveRoles, looked, messagesIn } from '../parts/role-list.ts'
import { type Said, textBlocks, textOutput } from '../parts/said.ts'
import { joined, outputText, type Turn, turnsOf } from '../parts/turns.ts'
import { noAudio, noFiles, noImages, noReasoning, ofRequests, textResults } from '../parts/wire-losses.ts'

const roles = ['system', 'user', 'assistant', 'tool'] as const
const fields = new Set(['role', 'content', 'name', 'tool_call_id'])

export const flat: Format = {
  name: 'flat',
  title: 'flat role list',
  form: 'a JSON list of `{role, content, name?, tool_call_id?}`',
  losses: {
    ...ofRequests,
    ...noImages,
    ...noAudio,
    ...noFiles,
    ...noReasoning,
    ...textResults,
    calls: 'the arguments are left out, the name of the tool stays with the result',
    plainArguments: 'left out',
    badArguments: 'left out',
    blockOrder: 'the texts of a reply become one, and stand before its calls',
    signatures: 'left out',
    failedResults: 'only the text says so',
    models: 'left out',
  },
  fits(source) {
    const items = looked(source)
    return (
      haveRoles(items, roles) &&
      items.every((item) => Object.keys(item).every((key) => fields.has(key)) && typeof item.content === 'string')
    )
  },
  read(source, said) {
    let last: Pending | null = null
    for (const message of messagesIn(source)) {
      const role = message.field('role').word(roles)
      if (role === 'tool') {
        last ??= { text: '', results: [] }
        last.results.push(message)
        continue
      }
      if (last !== null) say(said, last)
      last = null
      const text = message.field('content').textIfAny() ?? ''
      if (role === 'system') said.system(text)
      else if (role === 'user') said.user(textBlocks(text), { name: message.field('name').textIfAny() })
      else last = { text, results: [] }
    }
    if (last !== null) say(said, last)
  },
  write: (messages): Text => ({ json: turnsOf(messages).flatMap(written) }),
}

/** A reply, and the results behind it. */
interface Pending {
  readonly text: string
  readonly results: Foreign[]
}

function say(said: Said, { text, results }: Pending): void {
  const calls = results.map((result) => {
    const name = result.field('name').textIfAny() ?? 'unknown_tool'
    return said.call(result.field('tool_call_id').textIfAny(), name, '')
  })
  said.assistant([...textBlocks(text), ...calls])
  for (const [index, result] of results.entries()) {
    const value = result.field('content').textIfAny() ?? ''
    said.result({ id: calls[index]?.toolCallId }, 'ok', textOutput(value))
  }
}

function written(turn: Turn): readonly Readonly<Record<string, unknown>>[] {
  switch (turn.side) {
    case 'system':
      return [{ role: 'system', content: turn.text }]
    case 'user':
      return [{ role: 'user', content: joined(turn.blocks), ...(turn.name !== undefined && { name: turn.name }) }]
    case 'assistant':
      return [{ role: 'assistant', content: joined(turn.blocks) }]
    case 'results':
      return turn.results.map((result) => ({
        role: 'tool',
        content: outputText(result),
        tool_call_id: result.toolCallId,
        ...(result.toolName !== '' && { name: result.toolName }),
      }))
  }
}
