/** What a handler gives to `self` wrongly fails its run with a sentence that says what is expected. */
import { describe, expect, test } from 'vitest'
import { defineWorker, type Self } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

type Ask = (self: Self) => unknown

describe('self', () => {
  test.each<[string, Ask, RegExp]>([
    [
      'spawn with a misspelt option',
      (self) => self.spawn('echo', 1, { nmae: 'x' } as never),
      /^spawn does not know the option "nmae"; it takes name, detached\. Did you mean name\?$/,
    ],
    [
      'spawn with a name in place of options',
      (self) => self.spawn('echo', 1, 'x' as never),
      /^spawn takes an object with name, detached\.$/,
    ],
    [
      'spawn with a name that is no text',
      (self) => self.spawn('echo', 1, { name: 5 } as never),
      /^name of spawn must be a text of 1 to 64 bytes without control characters, not 5\.$/,
    ],
    [
      'spawn with a detached that is neither',
      (self) => self.spawn('echo', 1, { detached: 'yes' } as never),
      /^detached of spawn must be true or false, not "yes"\.$/,
    ],
    ['spawn without a kind', (self) => self.spawn(null as never, 1), /^null is not a worker kind: use up to 64/],
    [
      'spawn of an object',
      (self) => self.spawn(Object.create(null) as never, 1),
      /^an object is not a worker kind: use up to 64/,
    ],
    ['send to nobody', (self) => self.send(null as never, 1), /^send takes a worker's reference or id, not null\.$/],
    [
      'send to an object',
      (self) => self.send({} as never, 1),
      /^send takes a worker's reference or id, not an object\./,
    ],
    [
      'send to a name',
      (self) => self.send({ id: 'x' } as never, 1),
      /^send takes a worker's reference or id, not "x"\.$/,
    ],
    [
      'after a text',
      (self) => self.after('1000' as never, 1),
      /^after takes a number of milliseconds from 0 to \d+ \(a year\), not "1000"\.$/,
    ],
    [
      'after what has no text',
      (self) => self.after(Symbol('s') as never, 1),
      /^after takes a number .*, not Symbol\(s\)/,
    ],
    [
      'state that is assigned',
      (self) => Object.assign(self, { state: 1 }),
      /^self\.state cannot be assigned: call self\.setState\(state\) with the new state\.$/,
    ],
    ['after no number', (self) => self.after(Number.NaN, 1), /^after takes a number of milliseconds .*, not NaN\.$/],
  ])('.%s is refused', async (_, ask, message) => {
    const wrong = defineWorker({ receive: (_message, self) => void ask(self) })
    await using troupe = await TestTroupe.start({ workers: { wrong } })
    expect(await troupe.run('wrong')).toMatchObject({
      status: 'failed',
      failure: { code: 'input_invalid', attempt: 1, message: expect.stringMatching(message) },
    })
  })
})
