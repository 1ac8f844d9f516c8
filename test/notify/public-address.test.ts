/** The addresses to which no request goes unless that is allowed: those of this machine and of private networks (ADDRESS-1). */
import { expect, test } from 'vitest'
import { addressOf, checkWrittenAddress, isPublic } from '../../src/notify/public-address.ts'

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[fd00::1]',
  '[fe80::1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
])('an address of this machine or a private network is refused: %s', async (host) => {
  await expect(addressOf(new URL(`http://${host}/`), false)).rejects.toThrow(/private network/)
})

test.each([
  ['0.0.0.0', '0.255.255.255', [null, '1.0.0.0']],
  ['10.0.0.0', '10.255.255.255', ['9.255.255.255', '11.0.0.0']],
  ['100.64.0.0', '100.127.255.255', ['100.63.255.255', '100.128.0.0']],
  ['127.0.0.0', '127.255.255.255', ['126.255.255.255', '128.0.0.0']],
  ['169.254.0.0', '169.254.255.255', ['169.253.255.255', '169.255.0.0']],
  ['172.16.0.0', '172.31.255.255', ['172.15.255.255', '172.32.0.0']],
  ['192.0.0.0', '192.0.0.255', ['191.255.255.255', '192.0.1.0']],
  ['192.0.2.0', '192.0.2.255', ['192.0.1.255', '192.0.3.0']],
  ['192.88.99.0', '192.88.99.255', ['192.88.98.255', '192.88.100.0']],
  ['192.168.0.0', '192.168.255.255', ['192.167.255.255', '192.169.0.0']],
  ['198.18.0.0', '198.19.255.255', ['198.17.255.255', '198.20.0.0']],
  ['198.51.100.0', '198.51.100.255', ['198.51.99.255', '198.51.101.0']],
  ['203.0.113.0', '203.0.113.255', ['203.0.112.255', '203.0.114.0']],
  ['224.0.0.0', '239.255.255.255', ['223.255.255.255', null]],
  ['240.0.0.0', '255.255.255.255', [null, null]],
  ['::', '1fff:ffff::', [null, '2000::1']],
  ['2001::', '2001:1ff:ffff::', ['2000:ffff::', '2001:200::']],
  ['2001:db8::', '2001:db8:ffff::', ['2001:db7:ffff::', '2001:db9::']],
  ['2002::', '2002:ffff::', ['2001:ffff::', '2003::']],
  ['3fff::', '3fff:fff:ffff::', ['3ffe:ffff::', '3fff:1000::']],
  ['4000::', 'ffff:ffff::', ['3fff:ffff::', null]],
])('no address from %s to %s is public, and those beside them are', (first, last, beside) => {
  const family = first.includes(':') ? 6 : 4
  const seen = [first, last, ...beside].map((address) => address && isPublic({ address, family }))
  expect(seen).toEqual([false, false, ...beside.map((address) => address && true)])
})

test('a name is refused as an address if one of the addresses that it stands for is private', async () => {
  const resolve = async () => [
    { address: '93.184.216.34', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  await expect(addressOf(new URL('https://rebound.example/'), false, resolve)).rejects.toThrow(/rebound.example/)
  expect(await addressOf(new URL('https://rebound.example/'), true, resolve)).toMatchObject({
    address: '93.184.216.34',
  })
})

test('a name that has no address now may have one at the next attempt', async () => {
  const none = addressOf(new URL('https://none.example/'), false, async () => [])
  await expect(none).rejects.toMatchObject({ code: 'store_unavailable', retryable: true })
  await expect(addressOf(new URL('https://x..example/'), false)).rejects.toMatchObject({ retryable: true })
})

test.each(['localhost', 'localhost.', 'a.localhost', 'LOCALHOST'])('%s is always this machine', (host) => {
  expect(() => checkWrittenAddress(new URL(`https://${host}/`))).toThrow(/private network/)
})

test.each(['nolocalhost', 'localhost.example.com', '93.184.216.34'])('%s is another machine', (host) => {
  expect(() => checkWrittenAddress(new URL(`https://${host}/`))).not.toThrow()
})
