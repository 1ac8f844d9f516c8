/** A live tree whose workers send letters to each other: what became of each letter shows in one number. */
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { waitUntil } from '../time/wait-until.ts'

interface Letter {
  readonly hops: number
  readonly others: readonly string[]
  readonly root: string
}

export const members = 49
const hops = 6

/**
 * A root with members that pass letters on, each to another one and after its hops to the root, which counts them. All of them know each other by
 * ids in the values that they send.
 */
export const chatter = {
  root: defineWorker({
    receive: ({ value }, self) => {
      const state = (self.state ?? { count: 0 }) as { count: number }
      const { letters } = value as { letters?: number }
      if (letters === undefined) {
        self.setState({ count: state.count + 1 })
        return self.reply(state.count + 1)
      }
      const ids: string[] = []
      for (let member = 0; member < members; member++)
        ids.push(self.spawn('member', { hops: 0, others: [], root: '' }, { detached: true }).id)
      for (let letter = 0; letter < letters; letter++)
        self.send(ids[letter % members] as string, { hops, others: ids, root: self.id })
      self.setState({ count: 0 })
      return self.reply(0)
    },
  }),
  member: defineWorker({
    receive: ({ value }, self) => {
      const { hops: left, others, root } = value as Letter
      if (others.length > 0) {
        const seen = (self.state ?? 0) as number
        self.setState(seen + 1)
        const next = (others.indexOf(self.id) + 7 * left + seen + others.length) % others.length
        if (left === 0) self.send(root, { arrived: true })
        else self.send(others[next] as string, { hops: left - 1, others, root })
      }
      return self.reply(null)
    },
  }),
}

export const letters = 60

/** How many letters have arrived: each is a run of its own, behind the first one. */
export const countOf = async ({ root }: Session) => (await root.report()).runs - 1

/** Waits until the session is at rest. */
export async function settled(session: Session): Promise<void> {
  await waitUntil('all letters have arrived at the root', async () => (await countOf(session)) >= letters)
  await session.idle()
}
