import type { Foreign } from './foreign.ts'
import type { Format, Text } from './format.ts'
import { haveRoles, looked, messagesIn } from './role-list.ts'
import { type Said, textBlocks, textOutput } from './said.ts'
import { handoff, joined, outputText, type Turn, turnsOf } from './turns.ts'
import { noAudio, noFiles, noImages, noReasoning } from './wire-losses.ts'

const roles = ['system', 'user', 'assistant', 'tool'] as const
const fields = new Set(['role', 'content', 'name', 'tool_call_id'])

export const flat: Format = {
  name: 'flat',
  title: 'flat role list',
  form: 'a JSON list of `{role, content, name?, tool_call_id?}`',
  losses: {
    ...noImages,
    ...noAudio,
    ...noFiles,
    ...noReasoning,
    calls: 'the arguments are left out; the name of the tool stays with the result',
    plainArguments: 'are left out',
    badArguments: 'are left out',
    blockOrder: 'the texts of a reply become one, and stand before its calls',
    signatures: 'are left out',
    emptyMessages: 'are left out',
    senders: 'are left out',
    facts: 'are left out',
    jsonResults: 'become the text of the JSON',
    failedResults: 'is said by the text alone',
    cancelledResults: 'is said by the text alone',
    unknownResults: 'is said by the text alone',
    errors: 'are left out',
    summaries: `become the text of a user that begins with ${handoff}`,
    summaryCounts: 'is left out',
    ids: 'are left out',
    times: 'is left out',
    resultTimes: 'is left out',
    models: 'is left out',
    usage: 'are left out',
    finishReasons: 'is left out',
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
