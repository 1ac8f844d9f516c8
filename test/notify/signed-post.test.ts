/** One signed request: where it goes, when it is given up, and how much of an answer is read. */
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createPlainServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { type PostOptions, signedPost } from '../../src/notify/signed-post.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const options = { secrets: [secret], allowPrivateAddresses: true }

/** Runs the server for as long as the test uses its port. */
async function served(answer: RequestListener, use: (port: number) => Promise<void>): Promise<void> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await use((server.address() as AddressInfo).port)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

const post = (host: string, port: number, more: Partial<PostOptions> = {}) =>
  signedPost(`http://${host}:${port}/`, 'msg_1', '{}', { ...options, ...more })

test('a request goes to the address that was checked, whatever its name stands for by then (POST-1)', async () => {
  const asked: (string | undefined)[] = []
  const answer: RequestListener = ({ headers }, response) => {
    asked.push(headers.host)
    response.end()
  }
  await served(answer, async (port) => {
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    expect(await post('moved.invalid', port, { resolve })).toBe(200)
    expect(asked).toEqual([`moved.invalid:${port}`])
  })
})

test('a receiver that does not answer is given up after ten seconds', async () => {
  const late = new AbortController()
  using timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal)
  await served(
    () => late.abort(),
    async (port) => {
      await expect(post('127.0.0.1', port)).rejects.toThrow(`127.0.0.1:${port} gave no answer within 10 s`)
      expect(timeout.mock.calls).toEqual([[10_000]])
    },
  )
})

test('an answer without an end is not read to its end (POST-2)', async () => {
  // Otherwise the end of its time would end the connection, too.
  using _ = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal)
  let isLeft = false
  const answer: RequestListener = (_, response) => {
    response.once('close', () => {
      isLeft = true
    })
    response.write('x'.repeat(1_000))
  }
  await served(answer, async (port) => {
    expect(await post('127.0.0.1', port)).toBe(200)
    await waitUntil('the connection is closed', () => isLeft)
  })
})

test('a receiver that switches protocols has not taken the message', async () => {
  const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'
  await served(
    (_, { socket }) => socket?.end(switched),
    async (port) => {
      await expect(post('127.0.0.1', port)).rejects.toThrow(`127.0.0.1:${port} gave no answer`)
    },
  )
})

test('a body in other letters than ASCII arrives whole', async () => {
  const bodies: string[] = []
  const answer: RequestListener = (request, response) =>
    void text(request).then((body) => {
      bodies.push(body)
      response.end()
    })
  await served(answer, async (port) => {
    await signedPost(`http://127.0.0.1:${port}/`, 'msg_1', '{"name":"Größe 茶"}', options)
  })
  expect(bodies).toEqual(['{"name":"Größe 茶"}'])
})

test('a request to an address of https begins with a handshake, and not with its content', async () => {
  const first = Promise.withResolvers<number | undefined>()
  const server = createPlainServer((socket) => {
    socket.once('data', (bytes) => {
      first.resolve(bytes[0])
      socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await expect(signedPost(`https://127.0.0.1:${port}/`, 'msg_1', '{}', options)).rejects.toThrow(
    /ECONNRESET|socket|gave no answer/,
  )
  const handshake = 0x16
  expect(await first.promise).toBe(handshake)
  await new Promise((resolve) => server.close(resolve))
})
