/** Runs whose node was lost during a model call, before the earlier steps were recorded: the record knows only the call. */
import { expect, inject, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../../src/store/keys.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { shortLeases } from '../../support/test-policy.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const instructions = 'Look.'
const never = () => new Promise<Error>(() => {})

test.each([
  ['of its first model call', [], [say('done')]],
  ['of the call after a pure tool', [call('look')], [say('done')]],
])(
  'a run that is taken over in the middle %s goes on from the recorded entries (AGENT-1)',
  async (_, before, after) => {
    let looks = 0
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      effect: 'pure',
      run() {
        looks++
        if (looks === 2) throw new TransientError('busy', { retryAfterMs: 1 })
        return 'seen'
      },
    })
    const lost = scriptedModel('lost/model', (_request, number) => before[number - 1] ?? never())
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    const kind = { instructions, tools: [look] }
    const policy = { ...shortLeases, lazyCommitMs: 600_000 }
    const workers = { agent: defineWorker({ ...kind, model: lost }) }
    const node = await troupe.startNode(workers, { redisUrl: proxy.url, policy })
    const session = await troupe.create('agent')
    const { record } = workerKeys(troupe.tag, session.rootId)
    await waitUntil('its record tells of the model call', async () => {
      const state = await troupe.redis.hget(record, 'runState')
      return lost.calls === before.length + 1 && state?.startsWith('AwaitingLLMResponse')
    })
    proxy.cut()
    await node.stop({ force: true })
    await troupe.startNode({ agent: defineWorker({ ...kind, model: scriptedModel('next/model', after) }) })
    const result = await awaitResult(session)
    expect(result).toMatchObject({ status: 'completed', value: { text: 'done' } })
    expect(await troupe.redis.hget(record, 'runState')).toBe('Idle')
  },
)
