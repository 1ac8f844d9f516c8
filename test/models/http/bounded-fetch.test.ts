/** How much of an answer is held in memory, chunk by chunk. An answer without events is quoted. */
import { expect, test, vi } from 'vitest'
import { boundedFetch } from '../../../src/models/http/bounded-fetch.ts'
import { errorOf } from '../support/surfaces.ts'

const bytesMax = 10

/** The text of an answer that comes in these chunks. */
async function textOf(chunks: readonly string[], type = 'text/event-stream', status = 200): Promise<string> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk))
      controller.close()
    },
  })
  vi.spyOn(globalThis, 'fetch').mockResolvedValueOnce(new Response(body, { status, headers: { 'content-type': type } }))
  return await (await boundedFetch(bytesMax, 'test/m')('http://127.0.0.1')).text()
}

test.each(['\n\n', '\r\n\r\n', '\r\r'])('events that end with %j are counted one by one', async (end) => {
  const whole = ['12345', `6${end}`, `12${end}34`, '56', end]
  expect(await textOf(whole)).toBe(whole.join(''))
})

test.each(['\n\n', '\r\n\r\n', '\r\r'])(
  'events whose end %j comes in two pieces are counted one by one',
  async (end) => {
    for (let cut = 1; cut < end.length; cut++) {
      const [first, rest] = [end.slice(0, cut), end.slice(cut)]
      const whole = [`123${first}`, `${rest}123${first}`, rest, '123', first, rest]
      expect(await textOf(whole)).toBe(whole.join(''))
    }
  },
)

test.each([
  ['an event', 'text/event-stream', 200, '\n\n'],
  ['an error', 'application/json', 500, ''],
])('%s may have as many bytes as the limit, in any number of chunks', async (_, type, status, start) => {
  // A piece begins with the characters that end the piece before it.
  const most = [`${start}12345`, '678é'.slice(start.length)]
  expect(await textOf(most, type, status)).toBe(most.join(''))
  const message = 'test/m sent an event or an answer of more than 10 bytes; the rest was not read.'
  expect(await errorOf(textOf([...most, 'x'], type, status))).toMatchObject({ code: 'model_garbled', message })
})

test('an HTML page that arrives in several chunks is quoted from its beginning', async () => {
  const error = await errorOf(textOf([' <p>', 'Log', ' in'], 'text/html'))
  expect(error).toMatchObject({ name: 'NoEventsError', message: 'expected events, but got text/html:  <p>Log in' })
})
