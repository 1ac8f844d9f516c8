/** A node that a watchdog watches, in a process of its own. Its kinds end or block the process in different ways. */
import { execFileSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { startInternalNode } from '../../../src/compose.ts'
import { namePlacesFrom } from '../../../src/core/code-place.ts'
import { defineWorker, type HandlerDefinition } from '../../../src/core/definition/define-worker.ts'
import { stderrLogger } from '../../../src/log.ts'
import { handlerKind } from '../../../src/runtime/node/kind-maker.ts'

const order = JSON.parse(process.argv[2] ?? '{}') as {
  readonly redisUrl: string
  readonly namespace: string
  readonly policy: Record<string, number>
  readonly waitMs: number
  readonly endIfBlocked?: boolean
}

/** The test that started this node sets it: a time would say nothing of how far the other workers have come. */
let isToThrow = false
process.on('message', () => {
  isToThrow = true
})

const ways: Readonly<Record<string, HandlerDefinition['receive']>> = {
  async rejects() {
    void Promise.reject(new TypeError('nobody awaits me'))
    await pause(60_000)
  },
  async exits() {
    await pause(1)
    process.exit(3)
  },
  throwsLate(_message, self) {
    setInterval(() => {
      if (isToThrow) throw new Error('too late')
    }, 10)
    self.reply('fine')
  },
  async loops() {
    await pause(1)
    for (;;);
  },
  backtracks() {
    // Takes for ever: each further character doubles the time.
    ;/^(a+)+$/.test(`${'a'.repeat(60)}b`)
  },
  runsNativeCode() {
    execFileSync('sleep', ['60'])
  },
  async waits(_message, self) {
    await pause(order.waitMs, undefined, { signal: self.signal })
    self.reply('done')
  },
}

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
namePlacesFrom([process.cwd()])
await startInternalNode({
  ...order,
  kinds: Object.entries(ways).map(([name, receive]) =>
    handlerKind(name, defineWorker<null>({ initial: null, receive })),
  ),
  logger: stderrLogger('warn'),
  isWatched: true,
})
process.send?.('ready')
