/** A kind that says much in one run, of which nothing is stored: as many lines of 4 000 characters as its message says. */
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'

export const talker = defineWorker({
  input: z.number(),
  receive(message, self) {
    if (message.kind !== 'input') return
    for (let line = 0; line < message.value; line++) self.log.info('x'.repeat(4_000))
    self.reply('said')
  },
})
