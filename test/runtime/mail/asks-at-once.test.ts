/** Ten processes answer one ask at one moment: one answer counts, and the others say whose it was. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Told } from '../../programs/answerer.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const program = new URL('../../programs/answerer.ts', import.meta.url)

const asker = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') self.ask('Who is first?')
    else self.reply(message)
  },
})

test('one of ten answers from ten processes at one moment counts, and nine learn who answered', async () => {
  await using troupe = await TestTroupe.start({ workers: { asker } })
  const session = await troupe.create('asker')
  const ask = await waitUntil('an ask is open', async () => (await session.asks())[0])
  const processes = Array.from({ length: 10 }, (_, number) => {
    const { redisUrl, namespace } = troupe
    const order = JSON.stringify({ redisUrl, namespace, ask: ask.id, by: `process ${number}` })
    return fork(program, [order], { execArgv: ['--conditions=troupe-source'] })
  })
  await Promise.all(processes.map((one) => once(one, 'message')))
  const told = processes.map(async (one) => ((await once(one, 'message')) as [Told])[0])
  const gone = processes.map((one) => once(one, 'exit'))
  for (const one of processes) one.send('go')
  const answers = await Promise.all(told)
  await Promise.all(gone)
  const [first, ...others] = answers.filter(({ refusal }) => refusal === null)
  expect(others).toEqual([])
  expect(await session.result()).toMatchObject({ value: { by: first?.by, value: `from ${first?.by}` } })
  const refused = answers.flatMap(({ refusal }) => (refusal === null ? [] : [refusal]))
  expect(refused).toHaveLength(9)
  for (const refusal of refused) {
    const message = expect.stringContaining(`was answered by ${first?.by} at `) as string
    expect(refusal).toEqual({ code: 'ask_answered', message })
  }
  expect((await troupe.client.audit()).findings).toEqual([])
}, 120_000)
