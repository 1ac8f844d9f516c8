/**
 * Duty: troupe's own form of a conversation: JSON lines, a head and then each message as the history has it. It loses nothing but blobs, which stay
 * with their session.
 */
import { isObject } from '../../core/check/is-object.ts'
import type { ChatMessage } from '../../core/history/chat/chat-message.ts'
import { messageProblem } from '../../core/history/foreign-format.ts'
import type { Format } from '../format.ts'

const version = 1

export const troupe: Format = {
  name: 'troupe',
  title: 'troupe',
  form: 'JSON lines: `{"troupe": "conversation", "version": 1}`, then a message in each line',
  losses: {},
  fits: ({ lines }) => {
    const head = lines[0]?.value
    return isObject(head) && head.troupe === 'conversation'
  },
  read({ lines }, said) {
    const isHead = lines[0]?.has('troupe') === true
    const [head] = lines
    if (isHead && head && head.field('version').value !== version)
      throw head.field('version').wrong(`must be ${version}: a newer troupe wrote this conversation.`)
    if (isHead) said.id = head?.field('id').textIfAny()
    for (const [index, line] of (isHead ? lines.slice(1) : lines).entries()) {
      const problem = messageProblem(line.value, index)
      if (problem !== null) throw line.wrong(problem)
      said.messages.push(line.value as ChatMessage)
    }
  },
  write: (messages, { id }) => ({
    lines: [{ troupe: 'conversation', version, ...(id !== undefined && { id }) }, ...messages],
  }),
}
