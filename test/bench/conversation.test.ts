/** Conversations of the bench. */
import { expect, inject, test } from 'vitest'
import { openTroupe } from '../../bench/troupe.ts'
import { answererKindName } from '../../bench/troupe-agent.ts'
import { defaultSpending } from '../../src/core/policy.ts'
import { newNamespace } from '../support/namespace.ts'

test('a conversation grows beyond what a session may spend by default', async () => {
  const redisUrl = inject('redisUrl')
  const troupe = await openTroupe({ redisUrl, namespace: newNamespace(), kinds: {}, concurrency: 1, wakeups: 'bullmq' })
  try {
    const talk = await troupe.converse(answererKindName, 'hello')
    for (let calls = 1; calls <= defaultSpending.modelCalls; calls += 50) {
      const replies = await Promise.all(Array.from({ length: 50 }, () => talk.say('on')))
      expect(replies.at(-1)).toMatchObject({ text: 'on' })
    }
  } finally {
    await troupe.close()
  }
})
