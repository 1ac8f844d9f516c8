/** What scripts write into a mailbox by themselves is what everyone else reads. */
import { expect, inject, test } from 'vitest'
import { emptyTally, encodeTally, isTally } from '../../../src/core/history/run/agent-tally.ts'
import { decodeHead, decodeMail, signalLetters } from '../../../src/core/worker/message/message.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { runLua } from '../support/run-lua.ts'

test('each type of signal that scripts make is read as such', async () => {
  const redis = openRedis(inject('redisUrl'))
  const kinds = Object.keys(signalLetters) as (keyof typeof signalLetters)[]
  const mails = await runLua<string>(
    redis,
    ['mail/mail'],
    'signalMail(case, \'the-id\', \'{"status":"expired","value":1}\')',
    kinds,
  )
  for (const [index, text] of mails.entries()) {
    const kind = kinds[index] as 'timer'
    const message = { kind, id: 'the-id', from: null }
    expect(decodeMail('signals', 3, text)).toMatchObject({ lane: 'signals', position: 3, message })
    expect(decodeHead(text.slice(0, 12))).toEqual({ kind, id: 'the-id' })
  }
  redis.disconnect()
})

test('scripts tell the record of an agent from that of a handler by the same rule as everyone else', async () => {
  const redis = openRedis(inject('redisUrl'))
  const all = [encodeTally(emptyTally), '', '@', '{}', '"a 1"', 'a']
  expect(await runLua(redis, ['session/spending'], 'isTally(case)', all)).toEqual(all.map(isTally))
  redis.disconnect()
})
