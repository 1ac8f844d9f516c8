/** Duty: the handler kinds the bench runs on troupe: an echo, a parent with ten children, and workers that wait to be cancelled. */

import { defineWorker, type HandlerDefinition } from 'troupe'
import { z } from 'zod'
import { childAnswer, childQuestion, childrenPerTree, treeAnswer } from './agent-script.ts'
import { held, holder } from './held-workers.ts'

export type BenchKinds = Readonly<Record<string, HandlerDefinition>>

/** Replies at once with its message, so that message and reply have the same known size. */
const echo = defineWorker({
  receive(message, self) {
    self.reply(message.value)
  },
})

const child = defineWorker({
  receive(message, self) {
    self.reply(childAnswer(String(message.value)))
  },
})

const parent = defineWorker({
  state: z.object({ answers: z.array(z.string()) }),
  initial: { answers: [] },
  spawns: ['child'],
  // Like the parents of BullMQ's trees, it does nothing before the last answer has arrived.
  await: 'all',
  receive(message, self) {
    if (message.kind === 'input') {
      for (let index = 0; index < childrenPerTree; index++) self.spawn('child', childQuestion(index))
      return
    }
    const answers = [...self.state.answers, String(message.value)]
    self.setState({ answers })
    if (self.openChildren === 0) self.reply(treeAnswer(answers))
  },
})

export const benchKinds: BenchKinds = { echo, child, parent, held, holder }
