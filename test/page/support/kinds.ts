/** Kinds for the tests of the page: what they say holds markup and characters that nobody sees. */
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Model, ModelReply } from '../../../src/core/definition/model.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'

/** Would load from another host, run code, or hide something. */
export const hostile =
  '<img src="http://127.0.0.1:9/x" onerror="window.hit=1">![](http://127.0.0.1:9/y) [j](javascript:window.hit=1) </script>\u200b\u202e'

const publish = defineTool({
  name: 'publish',
  description: hostile,
  input: z.object({ path: z.string(), draft: z.boolean() }),
  effect: 'once',
  approval: 'always',
  run: ({ path }) => `published ${path} ${hostile}`,
})

/** Asks to publish first, then answers. */
const model: Model = {
  id: 'test/clerk',
  async reply({ messages }, call): Promise<ModelReply> {
    const wasAnswered = messages.some(({ role }) => role === 'tool')
    call.onFirstByte()
    const usage = { inputTokens: 12, outputTokens: 3 }
    const head = { model: 'test/clerk', usage }
    if (wasAnswered) {
      const text = `**Done.** ${hostile}`
      call.onDelta({ type: 'text', text })
      return { ...head, finishReason: 'stop', content: [{ type: 'text', text }] }
    }
    const input = { path: `/docs/${hostile}`, draft: true }
    return {
      ...head,
      finishReason: 'tool-calls',
      content: [
        { type: 'reasoning', text: hostile },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'publish', input },
      ],
    }
  },
}

const payments = new Set<string>()
/** Nobody knows what became of the first call with an input. */
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ cents: z.number() }),
  effect: 'once',
  approval: 'never',
  timeoutMs: 50,
  run: ({ cents }, { workerId }) => {
    const key = `${workerId} ${cents}`
    if (payments.has(key)) return `paid again ${cents}`
    payments.add(key)
    return new Promise(() => {})
  },
})

/** Pays, then says what it was told of the payment. */
const payingModel: Model = {
  id: 'test/payer',
  reply: async ({ messages }, call): Promise<ModelReply> => {
    call.onFirstByte()
    const head = { model: 'test/payer', usage: { inputTokens: 1, outputTokens: 1 } }
    const told = messages.find(({ role }) => role === 'tool')
    if (told !== undefined)
      return { ...head, finishReason: 'stop', content: [{ type: 'text', text: JSON.stringify(told) }] }
    const content = [{ type: 'tool-call', toolCallId: 'c1', toolName: 'pay', input: { cents: 5 } }] as const
    return { ...head, finishReason: 'tool-calls', content }
  },
}

export const kinds = {
  clerk: defineWorker({ description: hostile, instructions: 'You publish.', tools: [publish], model }),
  failing: defineWorker({
    description: 'Fails.',
    receive() {
      throw new Error(`no such file ${hostile}`)
    },
  }),
  asking: defineWorker({
    description: 'Asks a person.',
    receive(message, self) {
      if (message.kind === 'answer') self.reply(message.value)
      else self.ask(`How many? ${hostile}`, { schema: z.number() })
    },
  }),
  resting: defineWorker({
    description: 'Waits for a timer.',
    receive: (message, self) => void (message.kind === 'input' && self.after(3_600_000, null)),
  }),
  ordering: defineWorker({
    description: 'Takes a form.',
    input: z.object({
      what: z.string(),
      often: z.boolean(),
      cups: z.record(z.string(), z.number()).optional(),
      tins: z.array(z.record(z.string(), z.number())).optional(),
    }),
    receive(message, self) {
      if (message.kind === 'input') self.reply(message.value)
    },
  }),
  parent: defineWorker({
    description: 'Has children.',
    receive(message, self) {
      if (message.kind !== 'input') return self.reply('done')
      self.spawn('clerk', 'Look north', { name: `north ${hostile}`.slice(0, 40) })
      self.spawn('failing', 'Look south', { name: 'south' })
      return undefined
    },
  }),
  payer: defineWorker({ description: 'Pays.', instructions: 'You pay.', tools: [pay], model: payingModel }),
}
