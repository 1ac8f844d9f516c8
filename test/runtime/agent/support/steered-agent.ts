import type { Session } from '../../../../src/client/session/session.ts'
import type { PromptMessage } from '../../../../src/core/definition/model.ts'
import { type ScriptedReply, say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

/** The roles of a prompt, each with the texts in it. */
export function shown(messages: readonly PromptMessage[] = []): string[] {
  return messages.map((message) => {
    if (message.role === 'tool')
      return `tool: ${message.results.map(({ output }) => output.value as string).join(' | ')}`
    const texts = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    return `${message.role}: ${texts.join(' | ')}`
  })
}

export const isRunning = (session: Session, run: string) =>
  waitUntil(`its run is ${run}`, async () => {
    const report = await session.root.report()
    return report.status === 'running' && report.run === run
  })

/** An agent whose model answers each request by its number, and may wait for a gate before. */
export function gated(replies: readonly ScriptedReply[], closed: readonly number[] = []) {
  const gates = new Map(closed.map((number) => [number, Promise.withResolvers<void>()]))
  const model = recordedModel('test/m', async (_request, number) => {
    await gates.get(number)?.promise
    return replies[number - 1] ?? say(`reply ${number}`)
  })
  return { model, open: (number: number) => gates.get(number)?.resolve() }
}

export const interrupted = 'This call was interrupted by the message that follows: it did not finish.'
export const messageOf = (session: Session, text: string, when: 'queue' | 'steer' | 'interrupt') =>
  session.root.send(text, { when })
