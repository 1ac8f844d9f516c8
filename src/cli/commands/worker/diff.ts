/** `troupe worker diff`: where two conversations part, and what each of them said after that. */
import type { Command } from 'commander'
import type { ChatMessage } from '../../../core/history/chat/chat-message.ts'
import { count } from '../../../words/amounts.ts'
import { chatLine } from '../../../words/lines/chat-line.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { fitText } from '../../../words/text/text-width.ts'
import { addVerb, eitherId } from '../verb.ts'

export function addDiffCommand(group: Command): void {
  addVerb(group, {
    name: 'diff',
    description: 'compare two conversations, for example a branch with the one it comes from',
    takes: 'worker',
    options: (command) => command.argument('<other>', 'id of the other worker, or of a session for its first worker'),
    examples: [['troupe worker diff 0199… 019a…', 'lines with - are in the first one only, with + in the other']],
    purpose: 'look',
    answer: async (troupe, { id, more: [other] }) => {
      const left = troupe.workers.get(id)
      const right = troupe.workers.get(await eitherId(troupe, String(other), 'worker'))
      const diff = await left.diff(right)
      const part = (sign: string, messages: readonly ChatMessage[], columns: number) =>
        messages.map((message) => fitText(`${sign} ${escapeLine(chatLine(message))}`, columns))
      return {
        objects: [
          { leftId: left.id, rightId: right.id, shared: diff.shared.length, left: diff.left, right: diff.right },
        ],
        lines: ({ columns }) => [
          `  ${count(diff.shared.length, 'message')} in common`,
          ...part('-', diff.left, columns),
          ...part('+', diff.right, columns),
        ],
      }
    },
  })
}
