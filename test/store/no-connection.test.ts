/** Why there is no connection to a Redis: errors of TLS are quoted, as no certificate is at hand. */
import { expect, inject, test } from 'vitest'
import { noConnection } from '../../src/store/no-connection.ts'
import { connectTo } from './support/connect-to.ts'

const url = 'rediss://user:secret@redis.example:6380'

const certificates: readonly [reason: string, advice: RegExp][] = [
  ['self-signed certificate in certificate chain', /NODE_EXTRA_CA_CERTS name the file of the authority/],
  ['unable to verify the first certificate', /NODE_EXTRA_CA_CERTS/],
  ['unable to get local issuer certificate', /NODE_EXTRA_CA_CERTS/],
  ['certificate has expired', /renew it/],
  ["Hostname/IP does not match certificate's altnames: IP: 127.0.0.2 is not in the cert's list", /name it in the URL/],
]

test.each(certificates)('a certificate is no reason to start Redis: %s', (reason, advice) => {
  const told = Object.assign(new Error(reason), { reason: 'less than that' })
  const error = noConnection(url, told, undefined)
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(advice) })
  expect(error.message).toContain(
    `there is no TLS connection to Redis at rediss://user:***@redis.example:6380 (${reason}):`,
  )
})

test('a Redis that wants certificates of its clients is told in the words of TLS, without the place in its source', () => {
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

test('a port that speaks TLS, and is not asked to, hangs up: that is said', () => {
  const told = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  expect(noConnection('redis://host', told, undefined)).toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/if it speaks TLS, its URL begins with rediss:/),
  })
})

test('a port that is asked to speak TLS, and does not, keeps silent: that is said', async () => {
  const asked = connectTo(inject('redisUrl').replace('redis:', 'rediss:'), { deadlineMs: 300 })
  await expect(asked).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/without TLS its URL begins with redis:/),
  })
})
