/** A storm (F52, F53) says that all went well only if its verdicts can fail. Each of them gets here what it must not let pass. */
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Session } from '../../src/client/session/session.ts'
import type { Entry } from '../../src/core/history/entry.ts'
import { openCallFaults, resultFaults } from '../support/fault/call-results.ts'
import { judgeOrder } from '../support/fault/follower/fleet-follower.ts'
import { Follower } from '../support/fault/follower/follower.ts'
import { paidFaults } from '../support/fault/paid-verdict.ts'
import type { Request } from '../support/fault/people/endpoint-receiver.ts'
import { requestFaults } from '../support/fault/people/endpoint-verdict.ts'
import type { KnownEndpoint } from '../support/fault/people/people-endpoints.ts'

describe('an endpoint', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const asked = { types: ['session.completed'], kinds: ['echo'], include: 'ids', secrets: [secret] } as const
  const endpoint = { ...asked, id: 'e', path: '/1', quiet: [{ from: 50, to: 60 }] } as unknown as KnownEndpoint
  const notice = { type: 'session.completed', data: { sessionId: 's', kind: 'echo', path: '/v1/sessions/s' } }
  const withData = (data: object) => ({ ...notice, data: { ...notice.data, ...data } })

  function request(told: object = notice, key = secret, at = 1): Request {
    const body = JSON.stringify(told)
    const signed = createHmac('sha256', Buffer.from(key.slice(6), 'base64')).update(`msg.1.${body}`)
    const signature = `v1,${signed.digest('base64')}`
    const headers = { 'webhook-id': 'msg', 'webhook-timestamp': '1', 'webhook-signature': signature }
    return { at, path: '/1', headers, body, isAccepted: true }
  }

  test('an endpoint that gets what it asked for, once or again, has no fault', () => {
    const ofAnother = { ...request({ type: 'ask.opened', data: {} }), path: '/2' }
    const byHand = request({ type: 'webhook.test', data: { webhookId: 'e', path: '/v1/webhooks/e' } })
    expect(requestFaults(endpoint, [request(), request(), ofAnother], new Set(['dry']))).toEqual([])
    expect(requestFaults(endpoint, [byHand], new Set())).toEqual([])
  })

  test.each<[string, Request[], RegExp]>([
    ['of a type that it did not ask for', [request({ ...notice, type: 'ask.opened' })], /and did not ask for it$/],
    ['of a kind that it did not ask for', [request(withData({ kind: 'other' }))], /did not ask for kind other$/],
    ['with a value that it did not ask for', [request(withData({ value: 1 }))], /did not ask for value$/],
    ['of a dry run', [request(withData({ sessionId: 'dry' }))], /which is a dry run$/],
    ['that is not signed with its secret', [request(notice, 'whsec_b3RoZXI=')], /without a valid signature$/],
    ['while it was off', [request(notice, secret, 55)], /while it was off$/],
    ['as one message with two texts', [request(), request(withData({ run: 2 }))], /message msg with two texts$/],
  ])('an endpoint that gets something %s has a fault', (_, requests, fault) => {
    expect(requestFaults(endpoint, requests, new Set(['dry']))).toEqual([expect.stringMatching(fault)])
  })
})

describe('results of calls', () => {
  const result = (run: number) => ({ type: 'toolResult', toolCallId: 'a', run }) as Entry
  const retried = (run: number) => ({ type: 'retried', run, reopened: ['a'] }) as unknown as Entry

  test.each([
    ['a result', [result(1)]],
    ['another result after a retry', [result(1), retried(1), result(1)]],
    ['a result in each of two runs, since the turn of the first was taken back', [result(1), result(2)]],
  ])('a call with %s has no fault', (_, entries) => {
    expect(resultFaults(entries)).toEqual([])
  })

  test.each([
    ['two results', [result(1), result(1)]],
    ['three results after one retry', [result(1), retried(1), result(1), result(1)]],
    ['two results, and a retry in another run', [retried(2), result(1), result(1)]],
  ])('a call with %s has a fault', (_, entries) => {
    expect(resultFaults(entries)).toEqual([expect.stringMatching(/results of the call a of run 1$/)])
  })

  test('a call of a worker that rests has a fault if it has no result in its run', () => {
    const content = [{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} }]
    const reply = { type: 'assistant', run: 2, content } as unknown as Entry
    expect(openCallFaults([result(1), reply, result(2)])).toEqual([])
    expect(openCallFaults([result(1), reply])).toEqual(['has no result of the call a of run 2'])
  })
})

const stored = ['1-0', '2-0', '3-0']
const wrongOrders: [string, string[]][] = [
  ['an event twice', ['1-0', '2-0', '2-0', '3-0']],
  ['the last event twice', ['1-0', '2-0', '3-0', '3-0']],
  ['not the event in the middle', ['1-0', '3-0']],
  ['events in another order', ['2-0', '1-0', '3-0']],
]

describe('a follower of a session', () => {
  /** What it gets as it follows; afterwards it reads what is stored. */
  async function judge(came: readonly string[]): Promise<void> {
    async function* events({ after, follow }: { readonly after: string; readonly follow?: false }) {
      for (const id of follow === false ? stored.filter((one) => one > after) : came) yield { id }
    }
    await new Follower({ id: 's', events } as unknown as Session, () => 1).judge()
  }

  test('a follower that got each event once, or not yet all of them, is right', async () => {
    for (const count of [0, 2, 3]) await expect(judge(stored.slice(0, count))).resolves.toBeUndefined()
  })

  test.each(wrongOrders)('a follower that gets %s is wrong', async (_, came) => {
    await expect(judge(came)).rejects.toThrow(/event \d of 3 is|more events of session s came/)
  })
})

describe('a follower of all sessions', () => {
  test('a follower of all sessions is right if it got each event once, even events that are trimmed by now', () => {
    expect(() => judgeOrder(0, stored, ['0-0', ...stored, '4-0'])).not.toThrow()
  })

  test.each([...wrongOrders, ['an event twice that is trimmed by now', ['0-0', '0-0', ...stored]] as const])(
    'a follower of all sessions that gets %s is wrong',
    (_, came) => {
      expect(() => judgeOrder(0, stored, came)).toThrow(/in place of|twice/)
    },
  )
})

describe('what an agent counts', () => {
  const reply = (inputTokens: number) => ({ type: 'assistant', usage: { inputTokens } }) as Entry
  const cancelled = { type: 'cancelled' } as Entry
  const tookTooLong = { type: 'attemptFailed', failure: { code: 'deadline_exceeded' } } as Entry
  // Requests 1 and 3 were served, to process 7, and request 2 failed. Request 4 went to process 8, which died.
  const requests = [1, 2, 3, 4].map((seq) => ({ seq, pid: seq < 4 ? 7 : 8 }))
  const known = { served: new Set([1, 3]), lostTurns: (pid: number) => (pid === 8 ? 1 : 0) }
  const usage = { modelCalls: 2, failedModelCalls: 1, inputTokens: 4 }
  const agent = { id: 'a', usage, entries: [reply(1), reply(3)], requests }

  test('an agent that counts each reply, and each request that failed and was not refused, has no fault', () => {
    expect(paidFaults(agent, known)).toEqual([])
    const brokenOff = { ...usage, modelCalls: 1, failedModelCalls: 2, inputTokens: 1 }
    for (const end of [cancelled, tookTooLong])
      expect(paidFaults({ ...agent, usage: brokenOff, entries: [reply(1), end] }, known)).toEqual([])
    const refused = [5, 6].map((seq) => ({ seq, pid: 7, isRefused: true }))
    expect(paidFaults({ ...agent, requests: [...requests, ...refused] }, known)).toEqual([])
    const lost = { ...agent, requests: [...requests, { seq: 5, pid: 8 }] }
    expect(paidFaults(lost, { ...known, lostTurns: (pid) => (pid === 8 ? 2 : 0) })).toEqual([])
  })

  test.each<[string, Partial<typeof agent>, Partial<typeof known>, string]>([
    [
      'a reply twice',
      { entries: [reply(1), reply(1)], usage: { ...usage, inputTokens: 2 } },
      { lostTurns: () => 1 },
      'a reply is recorded twice',
    ],
    ['a reply that nobody gave', {}, { served: new Set([1]) }, 'reply 3 is recorded, and was never served'],
    [
      'a reply too little',
      { usage: { ...usage, modelCalls: 1, failedModelCalls: 2 } },
      {},
      '2 replies are recorded, 1 are counted',
    ],
    ['other tokens', { usage: { ...usage, inputTokens: 5 } }, {}, 'the replies have 4 input tokens, 5 are counted'],
    [
      'no reply that was served to a node that lives',
      { entries: [reply(1)], usage: { modelCalls: 1, failedModelCalls: 2, inputTokens: 1 } },
      {},
      'served and not recorded by nodes that live: 3',
    ],
    [
      'more requests than it made',
      { usage: { ...usage, failedModelCalls: 3 } },
      {},
      'it made 4 requests, and 5 are counted',
    ],
    [
      'not all requests',
      { usage: { ...usage, failedModelCalls: 0 } },
      {},
      '2 of its requests are not counted, and 1 of its turns were lost',
    ],
  ])('an agent that counts %s has a fault', (_, counted, facts, fault) => {
    expect(paidFaults({ ...agent, ...counted }, { ...known, ...facts })).toEqual([`agent a: ${fault}`])
  })
})
