/** A pause of a session of agents that work on two nodes: no model call and no tool begins after its acknowledgement, and none is lost or doubled. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { call, say, together } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const effects = { look: 'pure', put: 'idempotent', pay: 'once' } as const
const children = 6
const iterations = 4

/** Each child calls a tool of each effect class in each iteration. What begins is written into the log. */
function agents(log: string[]) {
  const tools = Object.entries(effects).map(([name, effect]) =>
    defineTool({
      name,
      description: name,
      effect,
      approval: 'never',
      async run(_, { idempotencyKey }) {
        log.push(`${name} ${idempotencyKey}`)
        await new Promise((resolve) => setTimeout(resolve, 5))
        return name
      },
    }),
  )
  const model = recordedModel('test/m', async ({ messages, idempotencyKey }) => {
    log.push(`model ${idempotencyKey}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
    const replies = messages.filter(({ role }) => role === 'assistant').length
    return replies === iterations ? say('done') : together(...Object.keys(effects).map((name) => call(name)))
  })
  const root = defineWorker({
    receive(message, self) {
      if (message.kind === 'input')
        for (let number = 0; number < children; number++) self.spawn('child', `go ${number}`)
      else if (self.openChildren === 0) self.reply('all done')
    },
  })
  return { root, child: defineWorker({ instructions: 'x', model, tools }) }
}

test('a paused session of agents begins nothing, and its resume loses and doubles no call', async () => {
  const log: string[] = []
  await using troupe = await TestTroupe.connect()
  for (let node = 0; node < 2; node++) await troupe.startNode(agents(log), { concurrency: 4 })
  const session = await troupe.create('root', 'go')
  for (let pause = 0; pause < 3; pause++) {
    const before = log.length
    await waitUntil('it goes on', () => log.length > before + 10)
    await session.pause()
    const at = log.length
    await waitUntil('nothing runs', async () => (await troupe.redis.zcard(`${troupe.tag}:leases`)) === 0)
    expect(log.slice(at)).toEqual([])
    await session.resume()
  }
  expect(await awaitResult(session)).toMatchObject({ value: 'all done' })
  expect(log).toHaveLength(children * (iterations + 1 + iterations * Object.keys(effects).length))
  expect(new Set(log).size).toBe(log.length)
  await expectInvariants(troupe.redis, troupe.namespace)
})
