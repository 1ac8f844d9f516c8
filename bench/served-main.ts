/**
 * Duty: the program of a part of troupe whose processor time is measured by itself: a node with a kind that talks, or an API. Started by followers.ts. It
 * ends with the process that started it.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { defineWorker, startNode } from 'troupe'
import { startApi } from 'troupe/api'

export interface ServedPart {
  readonly part: 'node' | 'api'
  readonly redisUrl: string
  readonly namespace: string
}

export interface Talk {
  readonly lines: number
  readonly everyMs: number
}

/** Says a line from time to time, as an agent whose model streams does. */
const talker = defineWorker({
  async receive(message, self) {
    const { lines, everyMs } = message.value as Talk
    for (let line = 0; line < lines; line++) {
      self.log.info('some words of an answer')
      await wait(everyMs)
    }
    self.reply(null)
  },
})

async function start({ part, ...place }: ServedPart): Promise<string> {
  if (part === 'api') return (await startApi({ ...place, port: 0, page: false, rate: 1_000_000 })).url
  await startNode({ ...place, workers: { talker } })
  return ''
}

process.once('disconnect', () => process.exit(0))
process.once('message', (order: ServedPart) => {
  void start(order).then((url) => {
    process.on('message', () => process.send?.(process.cpuUsage()))
    process.send?.(url)
  })
})
