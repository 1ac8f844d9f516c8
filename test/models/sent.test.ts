/** That a request has left is told to the call that makes it, before anything comes back. */
import { expect, test } from 'vitest'
import { ownPort } from '../support/redis/own-port.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { rawProvider } from './support/raw-provider.ts'
import { errorOf, listener, openAt, requestOf, surfaces, user } from './support/surfaces.ts'

test.each(surfaces)('$provider tells a call that its request left, while its provider is silent', async (surface) => {
  await using silent = await rawProvider(() => {})
  const nobody = `http://127.0.0.1:${await ownPort()}`
  const told: string[] = []
  const stop = new AbortController()
  const ask = (name: string, url: string) => {
    const call = { ...listener(stop.signal), onSent: () => told.push(name) }
    return errorOf(openAt(surface, url).reply(requestOf([user('x')]), call))
  }
  const asking = [ask('a', silent.url), ask('b', silent.url)]
  expect(openAt(surface, silent.url).tellsSent).toBe(true)
  expect(await ask('unheard', nobody)).toMatchObject({ code: 'model_unavailable' })
  await waitUntil('both requests are there', () => silent.requests.length === 2)
  expect(told.sort()).toEqual(['a', 'b'])
  stop.abort()
  await Promise.all(asking)
})
