/** A client that gets no connection: nothing that is thrown, nor what caused it, holds the password of the address. */
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'

const password = 'hunter2'
/** The deadline of a call that is not refused at once. */
const deadlineMs = 2_000

let locked: RedisServer
let withoutLogin: RedisServer
beforeAll(async () => {
  const start = (setting: string) => RedisServer.start({ durability: 'none', settings: [setting] })
  locked = await start(`user some on >${password} ~* &* +@all`)
  withoutLogin = await start('rename-command AUTH ""')
})
afterAll(() => Promise.all([locked, withoutLogin].map((server) => server[Symbol.asyncDispose]())))

const as = (inbox: string, url: string) => url.replace('//', `//${inbox}:${password}@`)

test.each<[where: string, says: RegExp, url: () => string]>([
  ['whose user Redis does not know', /refused the login/, () => as('other', locked.url)],
  ['of a database that there is not', /no such database/, () => `${as('some', locked.url)}/99`],
  ['of a Redis that has no login', /no command auth/i, () => as('', withoutLogin.url)],
  ['at which nobody listens', /does not answer/, () => as('', 'redis://127.0.0.1:1')],
])('an address %s', async (_, says, url) => {
  const thrown: unknown = await connectInternal({ redisUrl: url(), deadlineMs }).catch((error: unknown) => error)
  expect(thrown).toMatchObject({ message: expect.stringMatching(says) })
  expect(inspect(thrown, { depth: null, showHidden: true })).not.toContain(password)
})
