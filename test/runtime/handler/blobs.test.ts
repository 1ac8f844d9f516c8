/** `self.blob`: the bytes of media that a message of a handler holds or names. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { type MediaPart, mediaBlock } from '../../../src/core/history/chat/media.ts'
import { testHandler } from '../../../src/testing/index.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

const short = mediaBlock(Buffer.from('short'), { filename: 'a.txt' })
const long = mediaBlock(Buffer.alloc(900_000, 'long'), { filename: 'b.txt' })

/** A handler that reads the blocks of its message, or of the blob that the message names. */
const reader = defineWorker({
  async receive(message, self) {
    const { content = [], names = [] } = message.value as { content?: MediaPart[]; names?: string[] }
    const read = await Promise.all([...content, ...names].map((named) => self.blob(named)))
    self.reply({
      read: read.map(
        (blob) => blob && [blob.mediaType, blob.bytes.byteLength, Buffer.from(blob.bytes).toString('utf8', 0, 5)],
      ),
      urls: content.map(({ url }) => url ?? null),
    })
  },
})

const whole = [
  ['text/plain', 5, 'short'],
  ['text/plain', 900_000, 'longl'],
]

test('a handler reads the bytes of media, whether its message holds them or names a blob, but no blob of another session', async () => {
  await using troupe = await TestTroupe.start({ workers: { reader } })
  const [session, other] = [
    await troupe.create('reader', { content: [short, long] }, { keepOpen: true }),
    await troupe.create('reader', {}, { keepOpen: true }),
  ]
  const first = await session.result({ run: 1 })
  expect(first).toMatchObject({
    value: { read: whole, urls: [expect.stringMatching(/^data:/), expect.stringMatching(/^blob:/)] },
  })
  const [, url = ''] = (first as { value: { urls: string[] } }).value.urls
  const names = [url, url.slice('blob:'.length)]
  const readBy = async (one: typeof session) => {
    await one.root.send({ names })
    return one.result({ run: 2 })
  }
  expect(await readBy(session)).toMatchObject({ value: { read: [whole[1], whole[1]] } })
  expect(await readBy(other)).toMatchObject({ value: { read: [null, null] } })
})

test('a handler fetches nothing from elsewhere: an address fails its run, and the error says what can be read', async () => {
  const run = await testHandler(reader, { message: { kind: 'input', value: { names: ['https://example.org/a.png'] } } })
  expect(run.failure).toMatchObject({ code: 'input_invalid', message: expect.stringContaining('self.blob takes') })
})

test('a handler can be tested with media in the form in which it receives them, without Redis', async () => {
  const run = await testHandler(reader, { message: { kind: 'input', value: { content: [short, long] } } })
  expect(run.reply).toMatchObject({
    read: whole,
    urls: [expect.stringMatching(/^data:/), expect.stringMatching(/^blob:/)],
  })
})
