/** Media in an agent's conversation: in inputs and in results of tools, as the model gets them and as the history keeps them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Session } from '../../../../src/client/session/session.ts'
import { attachment } from '../../../../src/client/submission/attached.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { policy } from '../../../../src/core/policy.ts'
import { call, say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { tool } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitResult } from '../../../support/time/await-session.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
const image = { type: 'image', mediaType: 'image/png', data: png.toString('base64') } as const

async function conversation(model: ReturnType<typeof recordedModel>, tools: ReturnType<typeof tool>[] = []) {
  const troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'Look.', model, tools }) } })
  return { troupe, session: await troupe.create('agent', 'go', { keepOpen: true }) }
}

test('a message holds texts, bytes and files of the sender, and the model gets them as they are', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-media-'))
  const path = join(folder, 'plan.png')
  writeFileSync(path, png)
  const model = recordedModel('scripted/eyes', () => say('seen'))
  const { troupe, session } = await conversation(model)
  try {
    await session.root.send([
      { type: 'text', text: 'What is this?' },
      await attachment(path),
      { type: 'image', data: new Uint8Array(png), filename: 'bytes.png' },
      await attachment(path, { filename: 'renamed.png' }),
    ])
    await awaitResult(session, { run: 2 })
    expect(model.requests.at(-1)?.messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { ...image, filename: 'plan.png' },
        { ...image, filename: 'bytes.png' },
        { ...image, filename: 'renamed.png' },
      ],
    })
    await expect(attachment(join(folder, 'none.png'))).rejects.toThrow('cannot be attached: there is no such file.')
    const wrong = session.root.send([{ type: 'image', data: Buffer.from('text') }])
    await expect(wrong).rejects.toThrow('content[0] is said to be image, and its bytes are those of text/plain.')
  } finally {
    rmSync(folder, { recursive: true })
    await troupe[Symbol.asyncDispose]()
  }
})

test('an input with too many images, or with bytes of another type, fails with a sentence [1.35]', async () => {
  const model = recordedModel('scripted/eyes', () => say('seen'))
  const { troupe, session } = await conversation(model)
  await using _ = troupe
  for (const [content, said] of [
    [Array.from({ length: policy.imagesMax + 1 }, () => image), `holds ${policy.imagesMax + 1} images`],
    [[{ ...image, mediaType: 'image/jpeg' }], 'is said to be image/jpeg, and its bytes are those of image/png'],
  ] as const) {
    const { position } = await session.root.send(content)
    const result = await awaitResult(session, { run: position + 1 })
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'input_invalid' } })
    expect(JSON.stringify(result)).toContain(said)
  }
})

test('a tool returns text and media, and what is too much of them becomes a note', async () => {
  const large = {
    ...image,
    data: Buffer.concat([png, Buffer.alloc(policy.toolMediaBytesMax)]).toString('base64'),
    filename: 'large.png',
  }
  const content = [{ type: 'text', text: 'Two pictures.' }, { ...image, mediaType: 'image/jpeg' }, large]
  const model = recordedModel('scripted/eyes', (_, number) => (number === 1 ? call('draw') : say('seen')))
  const { troupe, session } = await conversation(model, [tool('draw', () => ({ content }))])
  await using _ = troupe
  await awaitResult(session, { run: 1 })
  const bytes = png.length + policy.toolMediaBytesMax
  const label = `image "large.png" (image/png, ${(bytes / 1_000).toFixed(1)} kB)`
  const output = {
    type: 'content',
    value: [
      { type: 'text', text: 'Two pictures.' },
      image,
      { type: 'text', text: `(${label} left out: a result holds at most ${policy.toolMediaBytesMax} bytes of media)` },
    ],
  }
  expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', results: [{ output }] })
  expect(await troupe.history(session.rootId)).toContainEqual(
    expect.objectContaining({ type: 'toolResult', status: 'ok', output }),
  )
})

test('media that are too long for a message are blobs of their session, and the model gets their bytes', async () => {
  const large = Buffer.concat([png, Buffer.alloc(2_000_000)])
  const model = recordedModel('scripted/eyes', () => say('seen'))
  const { troupe, session } = await conversation(model)
  await using _ = troupe
  const text = { type: 'text', text: 'What is this?' }
  await session.root.send([text, { type: 'image', data: large, filename: 'large.png' }])
  await awaitResult(session, { run: 2 })
  expect(model.requests.at(-1)?.messages.at(-1)).toEqual({
    role: 'user',
    content: [text, { ...image, data: large.toString('base64'), filename: 'large.png' }],
  })
  const said = (await troupe.history(session.rootId)).findLast(({ type }) => type === 'user')
  expect(JSON.stringify(said).length).toBeLessThan(1_000)
  expect(said).toMatchObject({
    content: [text, { type: 'image', url: expect.stringMatching(/^blob:[0-9a-f]{32}$/), bytes: large.length }],
  })
  // A name that no blob has becomes a note, and the conversation goes on.
  await session.root.send([{ type: 'image', mediaType: 'image/png', url: `blob:${'0'.repeat(32)}` }])
  await awaitResult(session, { run: 3 })
  expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain(
    'left out: its session does not have its bytes',
  )
})

test('the first message of a session may have media that are too long for a message, up to a bound', async () => {
  const large = Buffer.concat([png, Buffer.alloc(2_000_000)])
  const model = recordedModel('scripted/eyes', () => say('seen'))
  const { troupe } = await conversation(model)
  await using _ = troupe
  const { client } = troupe
  const input = [{ type: 'image', data: large, filename: 'large.png' }]
  const missing = { kind: 'agent', input: [{ type: 'image', file: 'no-such-file.png' }] }
  const [made, refused] = await client.sessions.createMany([{ kind: 'agent', input, idempotencyKey: 'large' }, missing])
  expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'input_invalid' } })
  const session = (made as PromiseFulfilledResult<Session>).value
  const result = await awaitResult(session)
  expect(result).toMatchObject({ status: 'completed' })
  expect(model.requests.at(-1)?.messages).toEqual([
    { role: 'user', content: [{ ...image, data: large.toString('base64'), filename: 'large.png' }] },
  ])
  const again = await client.sessions.create({ kind: 'agent', input, idempotencyKey: 'large' })
  expect(again.id).toBe(session.id)
  expect((await client.audit()).findings).toEqual([])
  const many = [1, 2, 3, 4].map((fill) => ({
    type: 'image',
    data: Buffer.concat([png, Buffer.alloc(9_000_000, fill)]),
  }))
  await expect(client.sessions.create({ kind: 'agent', input: many })).rejects.toThrow(
    /the media of the first message have \d+ bytes; the limit is 33554432: send further media/,
  )
})

test('a message may have many small media that are too long for it together', async () => {
  const pdf = Buffer.from('%PDF-1.7\n')
  const model = recordedModel('scripted/eyes', () => say('seen'))
  const { troupe, session } = await conversation(model)
  await using _ = troupe
  const input = Array.from({ length: 80 }, (_, fill) => ({
    type: 'file',
    data: Buffer.concat([pdf, Buffer.alloc(14_000, fill)]),
  }))
  const made = await troupe.create('agent', input)
  await session.root.send(input)
  for (const [one, run] of [
    [made, 1],
    [session, 2],
  ] as const) {
    expect(await awaitResult(one, { run })).toEqual({
      status: 'completed',
      run,
      value: { text: 'seen' },
    })
    const said = (await troupe.history(one.rootId)).findLast(({ type }) => type === 'user')
    expect(JSON.stringify(said).match(/blob:[0-9a-f]{32}/g)).toHaveLength(80)
  }
  const tiny = Array.from({ length: 3_001 }, (_, at) => ({
    type: 'file',
    data: Buffer.concat([pdf, Buffer.alloc(1_100, `${at},`)]),
  }))
  await expect(troupe.create('agent', tiny)).rejects.toThrow('the first message has 3001 media')
})
