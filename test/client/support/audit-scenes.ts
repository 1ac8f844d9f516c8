/** Sessions that stand still, each in another state, for the tests of audit. */

import { z } from 'zod'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { askId, childId } from '../../../src/core/ids.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../../src/store/keys.ts'
import type { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const long = 600_000

export const workers = {
  echo: defineWorker({ receive: (message, self) => self.reply(message.value) }),
  /** Sleeps, so that messages that come in that time wait. */
  sleeper: defineWorker({ receive: (_message, self) => self.after(long, 'late') }),
  /** A parent that waits for its first child, which sleeps; the result of its second waits in its mailbox. */
  parentWithChildren: defineWorker({
    receive(_message, self) {
      self.spawn('sleeper', 1)
      self.spawn('echo', 2)
    },
  }),
  /** The same, with a result that is so large that it stands beside the lane. */
  parentWithLarge: defineWorker({
    receive(_message, self) {
      self.spawn('sleeper', 1)
      self.spawn('echo', 'x'.repeat(3_000))
    },
  }),
  /** Receives the results of two children. */
  gatherer: defineWorker({
    receive(message, self) {
      if (message.kind === 'input') for (const n of [1, 2]) self.spawn('echo', n)
      else if (self.openChildren === 0) self.reply('both')
    },
  }),
  chatty: defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.send(self.spawn('sleeper', 1, { detached: true }), 'more')
      self.reply(1)
    },
  }),
  flaky: defineWorker({
    receive() {
      throw new TransientError('not now', { retryAfterMs: long })
    },
  }),
  agent: defineWorker({
    instructions: 'Double.',
    model: scriptedModel('test/one', ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? say('2') : call('double', { n: 1 }),
    ),
    tools: [
      defineTool({
        name: 'double',
        description: 'Doubles a number.',
        effect: 'pure',
        input: z.object({ n: z.number() }),
        run: ({ n }) => n * 2,
      }),
    ],
  }),
  asker: defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.ask('May I?', { expiresMs: long })
      else self.reply(message.value)
    },
  }),
  broken: defineWorker({ retries: 0, receive: (_message, self) => self.fail('no luck') }),
}

export type Scene =
  | 'parentWithChildren'
  | 'parentWithLarge'
  | 'gatherer'
  | 'chatty'
  | 'backlog'
  | 'chat'
  | 'queued'
  | 'flaky'
  | 'broken'
  | 'cancelled'
  | 'agent'
  | 'done'
  | 'asking'
  | 'answered'

export interface Cast {
  readonly session: Session
  readonly root: string
  /** The children of the first run. */
  readonly first: string
  readonly second: string
}

/** The kind of each scene that is not named like its kind. */
const kinds: Partial<Record<Scene, string>> = {
  backlog: 'sleeper',
  chat: 'echo',
  queued: 'nobody',
  cancelled: 'parentWithChildren',
  done: 'echo',
  asking: 'asker',
  answered: 'asker',
}

/** Plays a scene until it stands still. */
export async function play(troupe: TestTroupe, scene: Scene): Promise<Cast> {
  const kind = kinds[scene] ?? scene
  const session = await troupe.create(kind, 0, { keepOpen: scene === 'chat' || scene === 'broken' })
  const root = session.rootId
  const cast = { session, root, first: childId(root, 1, 1), second: childId(root, 1, 2) }
  const isAt = (worker: string, status: string) =>
    waitUntil(`${worker} is ${status}`, async () => {
      const [stands, runState] = await troupe.redis.hmget(workerKeys(troupe.tag, worker).record, 'status', 'runState')
      return (scene !== 'broken' || runState === 'Failed') && stands === status
    })
  if (scene === 'chat') for (const n of [1, 2]) await session.root.send(n)
  if (['backlog', 'flaky', 'asking', 'answered'].includes(scene)) await isAt(root, 'parked')
  if (scene === 'answered') await troupe.client.asks.answer(askId(root, 1, 'inbox-0', 1), 'yes')
  if (scene === 'backlog') for (const n of [1, 2, 3]) await session.root.send(n)
  if (['parentWithChildren', 'parentWithLarge', 'cancelled'].includes(scene)) {
    await isAt(cast.first, 'parked')
    await isAt(cast.second, 'idle')
  }
  if (scene === 'cancelled') await session.cancel('enough')
  if (['agent', 'gatherer', 'chatty', 'cancelled', 'done', 'answered'].includes(scene)) await session.result()
  if (scene === 'chatty') await isAt(cast.first, 'parked')
  if (scene === 'chat') await session.result({ run: 3 })
  if (scene === 'broken') await isAt(root, 'idle')
  return cast
}
