/** Why there is no connection to a Redis: errors of TLS are quoted, as no certificate is at hand. */

import { createServer, type Server, type Socket } from 'node:net'
import { inspect } from 'node:util'
import { expect, inject, onTestFinished, test } from 'vitest'
import { noConnection } from '../../../src/store/redis/no-connection.ts'
import { connectTo } from '../support/connect-to.ts'

const url = 'rediss://user:secret@redis.example:6380'

const certificates: readonly [reason: string, advice: RegExp][] = [
  ['self-signed certificate in certificate chain', /NODE_EXTRA_CA_CERTS name the file of the authority/],
  ['unable to verify the first certificate', /NODE_EXTRA_CA_CERTS/],
  ['unable to get local issuer certificate', /NODE_EXTRA_CA_CERTS/],
  ['certificate has expired', /renew it/],
  ["Hostname/IP does not match certificate's altnames: IP: 127.0.0.2 is not in the cert's list", /name it in the URL/],
]

test.each(certificates)('a wrong certificate does not lead to the advice to start Redis: %s', (reason, advice) => {
  const told = Object.assign(new Error(reason), { reason: 'less than that' })
  const error = noConnection(url, told, undefined)
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(advice) })
  expect(error.message).toContain(
    `there is no TLS connection to Redis at rediss://user:***@redis.example:6380 (${reason}):`,
  )
})

test('a Redis that wants client certificates is reported in the words of TLS, without the position in its source', () => {
  const told = Object.assign(
    new Error(
      '403D:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:rec_layer_s3.c:918:\n',
    ),
    { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', reason: 'tlsv13 alert certificate required' },
  )
  expect(noConnection(url, told, undefined)).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /\(tlsv13 alert certificate required\): it wants clients to show one, .*tls-auth-clients/,
    ),
  })
})

test('a port that speaks TLS to a client without TLS hangs up, and the error says so', () => {
  const told = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  expect(noConnection('redis://host', told, undefined)).toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/if it speaks TLS, its URL begins with rediss:/),
  })
})

test('a port without TLS keeps silent to a client with TLS, and the error says so', async () => {
  const asked = connectTo(inject('redisUrl').replace('redis:', 'rediss:'), { deadlineMs: 1_500 })
  await expect(asked).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/without TLS its URL begins with redis:/),
  })
})

/** A server that stands in for a Redis, and does this to each connection. */
async function standIn(serve: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer((socket) => serve(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `redis://:secret@127.0.0.1:${(server.address() as { port: number }).port}`
}

const busy: readonly [string, (socket: Socket) => void, RegExp][] = [
  [
    'has as many clients as it may',
    (socket) => void socket.end('-ERR max number of clients reached\r\n'),
    /takes no connection now \(ERR max number of clients reached\)\. Close connections, or raise maxclients\.$/,
  ],
  [
    'loads its file',
    (socket) =>
      void socket.on('data', (asked) => {
        if (asked.includes('auth')) socket.write('+OK\r\n')
        if (asked.includes('info')) socket.write('$11\r\nloading:1\r\n\r\n')
      }),
    /takes no connection now \(LOADING .*\)\. Wait: it answers when it has\.$/,
  ],
  [
    'runs a script of somebody else',
    (socket) =>
      void socket.on('data', (asked) => {
        socket.write(asked.includes('auth') ? '+OK\r\n' : '-BUSY Redis is busy running a script.\r\n')
      }),
    /takes no connection now \(BUSY Redis is busy running a script\)\. Wait, or end what it runs \(.* KILL\)\.$/,
  ],
  [
    'is a replica whose primary is gone',
    (socket) =>
      void socket.on('data', (asked) => {
        if (asked.includes('auth')) socket.write('+OK\r\n')
        if (asked.includes('info')) socket.write('$11\r\nloading:0\r\n\r\n')
        if (asked.includes('ping')) socket.write('-MASTERDOWN Link with MASTER is down.\r\n')
      }),
    /takes no connection now \(MASTERDOWN Link with MASTER is down\)\. It is a replica: point TROUPE_REDIS_URL/,
  ],
]

test.each([
  ['HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n', /\(Unknown RESP type 72 "H"\): correct host and port in the URL\.$/],
  ['TLS', Buffer.from('15030100020246', 'hex'), /\): if it speaks TLS, its URL begins with rediss:\/\/\.$/],
])('a server that answers in %s is reported as no Redis', async (_, said, advice) => {
  const url = await standIn((socket) => void socket.once('data', () => socket.end(said)))
  const error: unknown = await connectTo(url, { deadlineMs: 1_500 }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(advice) })
  expect(error).toMatchObject({ message: expect.stringMatching(/^what listens at redis:\S+ is no Redis \(/) })
})

test.each(busy)(
  'a Redis that %s brings no advice to start it: the error says why it does not answer',
  async (_, serve, why) => {
    const error: unknown = await connectTo(await standIn(serve), { deadlineMs: 1_500 }).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ code: 'store_unavailable', message: expect.stringMatching(why) })
    expect(inspect(error, { depth: 9 })).not.toContain('secret')
  },
)

test.each([
  ['NOAUTH Authentication required.', /; put user and password into the URL\.$/],
  ['WRONGPASS invalid username-password pair or user is disabled.', /; correct user and password in the URL\.$/],
])('a client that is not let in learns whether user and password lack, or are wrong: %s', (reason, advice) => {
  expect(noConnection(url, new Error(reason), undefined)).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(advice),
  })
})
