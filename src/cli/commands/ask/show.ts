/** `troupe ask show <ask>`: one ask: who asks what, the form of the answer, and how it ended. */
import type { Command } from 'commander'
import { answerCommand } from '../../../client/person/answer-command.ts'
import { detailsOf } from '../../../client/person/approval-answers.ts'
import type { Ask } from '../../../client/person/asks.ts'
import { momentAndAge, momentAndDistance } from '../../../words/duration.ts'
import { valueLine } from '../../../words/lines/message-line.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { factLines } from '../../view/answer.ts'
import type { Page } from '../../view/page.ts'
import { addVerb } from '../verb.ts'
import { askObject, waiter } from './ask-text.ts'

export function addShowCommand(group: Command): void {
  addVerb(group, {
    name: 'show',
    description: 'one ask: who asks what, the form of the answer, and how it ended',
    options: (command) => command.argument('<ask>', 'id of the ask'),
    examples: [['troupe ask show 0199…', '']],
    purpose: 'look',
    answer: async (troupe, { more: [id] }) => {
      const ask = await troupe.asks.get(String(id))
      return { objects: [askObject(ask)], lines: (page) => askLines(ask, page) }
    },
  })
}

function askLines(ask: Ask, page: Page): string[] {
  const { id, kind, question, options, schema, state, askedAt, expiresAt, endedAt, answer, sessionId, workerId } = ask
  const call = detailsOf(ask)
  return factLines(
    [
      ['ask', id],
      ['kind', kind],
      ['asks', escapeLine(question)],
      ['answers', options === null ? null : escapeLine(options.join(', '))],
      ['tool', call && escapeLine(call.tool)],
      ['arguments', call && escapeLine(JSON.stringify(call.arguments))],
      ['why', call && escapeLine(call.why)],
      ['asked again', call?.again === undefined ? null : escapeLine(call.again)],
      ['schema', schema === null ? null : escapeLine(valueLine(schema))],
      ['state', state],
      ['since', momentAndAge(askedAt)],
      ['expires', momentAndDistance(expiresAt)],
      ['ended', endedAt === null ? null : momentAndAge(endedAt)],
      ['answer', answer && escapeLine(valueLine(answer.value))],
      ['by', answer?.by == null ? null : escapeLine(answer.by)],
      ['reason', answer?.reason == null ? null : escapeLine(answer.reason)],
      ['worker', `${escapeLine(waiter(ask))} (${workerId})`],
      ['session', sessionId],
      ['to answer', state === 'open' ? answerCommand(id, kind) : null],
    ],
    page,
  )
}
