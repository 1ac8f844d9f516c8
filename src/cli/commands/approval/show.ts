/** `troupe approval show <approval>`: one tool call that waits for a person: its arguments, why, and how it was decided. */
import type { Command } from 'commander'
import type { Approval } from '../../../client/person/approvals.ts'
import { momentAndAge, momentAndDistance } from '../../../words/duration.ts'
import { valueLine } from '../../../words/lines/message-line.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { factLines } from '../../view/answer.ts'
import type { Page } from '../../view/page.ts'
import { addVerb } from '../verb.ts'
import { approvalObject, argumentLines, callerText, stateText } from './approval-text.ts'

export function addShowCommand(group: Command): void {
  addVerb(group, {
    name: 'show',
    description: 'one tool call that waits for a person: its arguments, and why it waits',
    options: (command) => command.argument('<approval>', 'id of the approval'),
    examples: [['troupe approval show 0199…', '']],
    purpose: 'look',
    answer: async (troupe, { more: [id] }) => {
      const approval = await troupe.approvals.get(String(id))
      return { objects: [approvalObject(approval)], lines: (page) => approvalLines(approval, page) }
    },
  })
}

function approvalLines(approval: Approval, page: Page): string[] {
  const { id, tool, why, again, eachTime, state, askedAt, expiresAt, decided, sessionId, workerId } = approval
  const isOpen = state === 'open'
  const facts = factLines(
    [
      ['approval', id],
      ['tool', escapeLine(tool)],
      ['asked because', escapeLine(why)],
      ['asked again', again === null ? null : escapeLine(again)],
      ['trust', eachTime ? 'changes nothing: this tool is asked about each time' : null],
      ['state', escapeLine(stateText(approval))],
      ['since', momentAndAge(askedAt)],
      ['expires', momentAndDistance(expiresAt)],
      ['reason', decided?.reason == null ? null : escapeLine(decided.reason)],
      ['ran with', decided?.arguments === undefined ? null : escapeLine(valueLine(decided.arguments))],
      ['worker', `${escapeLine(callerText(approval))} (${workerId})`],
      ['session', sessionId],
      ['to approve', isOpen ? `troupe approval approve ${id}` : null],
      ['to deny', isOpen ? `troupe approval deny ${id} --reason "…"` : null],
    ],
    page,
  )
  return [...facts, '', page.paint('dim', 'arguments'), ...argumentLines(approval)]
}
