/** Addresses of a Redis: which are refused, with which sentences, and how the client reads the others. */
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/core/errors.ts'
import { checkRedisUrl, otherServer, redisPlace, safeUrl, serversOf } from '../../src/core/redis-url.ts'

const database = /^the database in the Redis URL must be a whole number, 0 or more/
const port = /^the port in the Redis URL must be a whole number from 1 to 65535/
const password = /^the Redis URL cannot be read: .*Percent-encode user and password: # is %23/
const noHost = /^the Redis URL names no host: it should be like redis:/
const place = /^host and port in the Redis URL cannot be read/
const scheme = /^the Redis URL must begin with redis:/
const socket = /^the Redis URL must name the path of a socket/

const wrong: readonly [url: string, why: RegExp][] = [
  ['redis://127.0.0.1:7955/abc', database],
  ['redis://127.0.0.1:7955/1.5', database],
  ['redis://127.0.0.1:7955/-1', database],
  ['redis://127.0.0.1:7955/1/2', database],
  ['redis://127.0.0.1:7955//1', database],
  ['redis://127.0.0.1:7955/0x1', database],
  ['redis://127.0.0.1:7955?db=abc', database],
  ['redis://127.0.0.1:7955/?db=1.5', database],
  ['redis://127.0.0.1:7955?db=', database],
  ['redis://127.0.0.1:7955?db=1&db=two', database],
  ['/run/redis.sock?db=abc', database],
  ['unix:///run/redis.sock?db=abc', database],
  ['redis://127.0.0.1:99999', port],
  ['redis://[::1]:99999', port],
  ['redis://127.0.0.1:0', port],
  ['redis://127.0.0.1:six', port],
  ['redis://host?port=99999', port],
  ['redis://host?db=1&keyPrefix=hush', /takes no keyPrefix: troupe separates keys by a namespace/],
  ['redis://host?connectTimeout=700', /takes no connectTimeout: troupe has deadlines of its own/],
  ['redis://user:hush', port],
  ['redis://:hush', port],
  ['redis://:hu#sh@127.0.0.1:6379', password],
  ['redis://:hu/sh@127.0.0.1:6379', password],
  ['redis://:hu?sh@127.0.0.1:6379', password],
  ['redis://:hu%sh@127.0.0.1:6379', password],
  ['redis://hu%sh:hush@127.0.0.1:6379', password],
  // A client would take all of these for host "user" and port 12.
  ['redis://inbox:12#hush@127.0.0.1:6379', password],
  ['redis://inbox:12/hush@127.0.0.1:6379', password],
  ['redis://inbox:12?hush@127.0.0.1:6379', password],
  ['redis://inbox:12?a=hush@127.0.0.1:6379', password],
  ['redis://127.0.0.1:6379#hush', /^the Redis URL has a "#"/],
  ['redis://', noHost],
  ['redis:///3', noHost],
  ['redis://?db=3', noHost],
  ['redis://:6379', noHost],
  ['redis://:hush@', noHost],
  ['redis://:hush@:6379', noHost],
  ['redis://::1:6379', place],
  ['redis://[::1', place],
  ['redis://two hosts:6379', place],
  ['localhost', scheme],
  ['localhost:6379', scheme],
  ['http://localhost:6379', scheme],
  // A client would connect without TLS.
  ['REDISS://localhost:6379', scheme],
  ['', scheme],
  ['unix://', socket],
  ['unix:///?db=1', socket],
  ['unix:///run/redis#1.sock', socket],
  ['unix://user:hush@/run/redis.sock', /takes no user before its path/],
]

const known = /takes only these options after its "\?": username, password, db/

const wrongOptions: readonly [url: string, why: RegExp][] = [
  ['redis://host?tls=false', /takes no tls: a URL with TLS begins with rediss:/],
  ['redis://host?tls=true', /takes no tls/],
  ['redis://host?ssl=1', /takes no ssl/],
  ['redis://host?database=3', /takes no database: the database is the number behind the host/],
  ['redis://host?pasword=hush', /Did you mean password\?$/],
  ['redis://host?usrename=hush', /Did you mean username\?$/],
  ['redis://host?famly=6', /Did you mean family\?$/],
  ['redis://host?pass=hush', /takes no pass: user and password stand before the host/],
  ['redis://host?sentinels=a,b', /takes no sentinels: a URL with sentinels is like redis\+sentinel:/],
  ['redis://host?lazyConnect=true', known],
  ['redis://host?maxRetriesPerRequest=1', known],
  ['redis://host?hush', known],
  ['redis://host?family=5', /^family in the Redis URL must be 4 or 6/],
  ['redis://host?family=', /^family in the Redis URL must be 4 or 6/],
  ['redis://host?functions=true', /^functions in the Redis URL must be yes or no/],
  ['unix:///run/redis.sock?functions=', /^functions in the Redis URL must be yes or no/],
  ['redis+sentinel://host/mymaster?functions=1', /^functions in the Redis URL must be yes or no/],
  ['/run/redis.sock?tls=true', /takes no tls/],
  ['/run/redis.sock?pasword=hush', /Did you mean password\?$/],
  ['unix:///run/redis.sock?host=hush', /takes only these options/],
  ['redis+sentinel://host/mymaster?sentinelPasword=hush', /Did you mean sentinelPassword\?$/],
  ['redis+sentinel://host/mymaster?tls=true', /takes no tls/],
]

const noSentinel = /^the Redis URL names no host: it should be like redis\+sentinel:/
const master = /^the Redis URL must name the Redis as its sentinels know it/
const options =
  /a Redis URL with sentinels takes only these options after its "\?": username, password, sentinelUsername/

const wrongWithSentinels: readonly [url: string, why: RegExp][] = [
  ['redis+sentinel://host', master],
  ['redis+sentinel://host/', master],
  ['redis+sentinel://host?db=1', master],
  ['redis+sentinel://host//1', master],
  ['redis+sentinel://:hush@host,other:1/a%20name', master],
  ['redis+sentinel://', noSentinel],
  ['redis+sentinel:///mymaster', noSentinel],
  ['redis+sentinel://:hush@/mymaster', noSentinel],
  ['redis+sentinel://host,/mymaster', noSentinel],
  ['redis+sentinel://host,:26379/mymaster', noSentinel],
  ['redis+sentinel://host:1,other:0/mymaster', port],
  ['redis+sentinel://host:1,other:99999/mymaster', port],
  ['redis+sentinel://host:one,other/mymaster', port],
  ['redis+sentinel://user:hush@host:1,oth er:2/mymaster', place],
  ['redis+sentinel://host/mymaster/one', database],
  ['redis+sentinel://host/mymaster/1/2', database],
  ['redis+sentinel://host/mymaster?db=one', database],
  ['redis+sentinel://host/mymaster?role=slave', options],
  ['redis+sentinel://host/mymaster?name=hush', options],
  ['redis+sentinel://:hu/sh@host/mymaster', password],
  ['redis+sentinel://:hu#sh@host/mymaster', password],
  ['redis+sentinel://:hu?sh@host/mymaster', password],
  ['redis+sentinel://:hu%sh@host/mymaster', password],
  ['redis+sentinel://host/mymaster#hush', /^the Redis URL has a "#"/],
  ['rediss+sentinel://host/mymaster', scheme],
]

const noServer = /^the Redis URL names no host: it should be like redis:\/\/host1:7000,host2/

const wrongWithServers: readonly [url: string, why: RegExp][] = [
  ['redis://a:1,', noServer],
  ['redis://,b', noServer],
  ['redis://:hush@a,:7001', noServer],
  ['redis://a:1,b:0', port],
  ['redis://a:one,b', port],
  ['redis://a,b/one', database],
  ['redis://a,b/3', /is that of a cluster, which has database 0 alone/],
  ['redis://a,b?db=3', /is that of a cluster, which has database 0 alone/],
  ['redis://a,b?path=/hush', /a Redis URL with several servers takes only these options/],
  ['redis://:hu/sh@a,b', password],
]

const withServers: readonly [url: string, servers: readonly string[], shown: string][] = [
  ['redis://a:7000,b:7001', ['redis://a:7000', 'redis://b:7001'], 'redis://a:7000,b:7001'],
  ['redis://a,[::1]:2', ['redis://a', 'redis://[::1]:2'], 'redis://a,[::1]:2'],
  [
    'rediss://user:p,ss@a:1,b:2/0?family=6',
    ['rediss://user:p,ss@a:1/0?family=6', 'rediss://user:p,ss@b:2/0?family=6'],
    'rediss://user:***@a:1,b:2/0',
  ],
  ['redis://secret@a,b', ['redis://secret@a', 'redis://secret@b'], 'redis://***@a,b'],
  ['redis://a?password=p,q', ['redis://a?password=p,q'], 'redis://a'],
]

const two = [
  { host: 'a', port: 1 },
  { host: 'b', port: 26_379 },
]

const fineWithSentinels: readonly [url: string, sentinels: object[], meant: object][] = [
  ['redis+sentinel://a:1,b/mymaster', two, { db: 0, username: null, password: null }],
  ['redis+sentinel://a:1,b/mymaster/3', two, { db: 3 }],
  ['redis+sentinel://a:1,b/mymaster/?db=3', two, { db: 3 }],
  ['redis+sentinel://user:p,a%23ss@a:1,b/mymaster', two, { username: 'user', password: 'p,a#ss' }],
  ['redis+sentinel://a:1,b/mymaster?sentinelPassword=p@ss', two, { sentinelPassword: 'p@ss', password: null }],
  ['redis+sentinel://[::1]:2/mymaster', [{ host: '::1', port: 2 }], {}],
]

const local = { host: 'localhost', port: 6379, db: 0 }

const fine: readonly [url: string, meant: object][] = [
  ['redis://127.0.0.1:7955', { ...local, host: '127.0.0.1', port: 7955 }],
  ['redis://host', { ...local, host: 'host' }],
  ['redis://host/', { ...local, host: 'host' }],
  ['redis://host:1/3', { ...local, host: 'host', port: 1, db: 3 }],
  ['redis://host:1/3/', { ...local, host: 'host', port: 1, db: 3 }],
  ['redis://host:1?db=3', { ...local, host: 'host', port: 1, db: 3 }],
  ['redis://host:1?family=6', { ...local, host: 'host', port: 1, family: 6 }],
  ['redis://user:pass@host', { ...local, host: 'host', username: 'user', password: 'pass' }],
  ['redis://:p%23a%2Fs%3Fs%25@host', { ...local, host: 'host', password: 'p#a/s?s%' }],
  ['redis://:p@ss@host', { ...local, host: 'host', password: 'p@ss' }],
  ['redis://host?password=p@ss', { ...local, host: 'host', password: 'p@ss' }],
  ['redis://[::1]:6379', { ...local, host: '::1' }],
  ['rediss://user:pass@host:1/2', { host: 'host', port: 1, db: 2, tls: true }],
  ['//host:1/2', { host: 'host', port: 1, db: 2 }],
  ['redis://?host=host&port=1', { host: 'host', port: 1 }],
  ['redis://?path=/run/redis.sock', { path: '/run/redis.sock' }],
  ['/run/redis#@1.sock', { path: '/run/redis#@1.sock' }],
  ['/run/redis.sock?db=3&password=pass', { path: '/run/redis.sock', db: 3, password: 'pass' }],
  ['unix:///run/redis.sock?db=3', { path: '///run/redis.sock', db: 3 }],
]

describe('the address of a Redis', () => {
  test.each([...wrong, ...wrongWithSentinels, ...wrongWithServers, ...wrongOptions])(
    '%s is refused in one sentence that quotes no part of it (REDIS-URL-2)',
    (url, why) => {
      const checking = () => checkRedisUrl(url)
      expect(checking).toThrow(ConfigError)
      expect(checking).toThrow(why)
      expect(checking).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/hush|sh@|\n/) }))
    },
  )

  test.each(fine)('%s is accepted, and the client connects to that address', (url, meant) => {
    checkRedisUrl(url)
    const redis = new Redis(url, { lazyConnect: true })
    expect(redis.options).toMatchObject(meant)
    redis.disconnect()
  })

  test.each(withServers)('%s names servers, and is shown without its password', (url, servers, shown) => {
    checkRedisUrl(url)
    expect(serversOf(url)).toEqual(servers)
    expect(safeUrl(url)).toBe(shown)
  })

  test.each([
    ['redis://user:pass@a:1,b:2/0?family=6', 'c', 'redis://user:pass@c:3/0?family=6'],
    ['rediss://a', '::1', 'rediss://[::1]:3'],
  ])('another server of %s is reached with the same login and options', (url, host, other) => {
    expect(otherServer(url, host, 3)).toBe(other)
  })

  test.each(fineWithSentinels)('%s names sentinels, and the client gets them', (url, sentinels, meant) => {
    checkRedisUrl(url)
    const { url: one, ...asked } = redisPlace(url)
    expect(asked).toEqual({ sentinels, name: 'mymaster' })
    const redis = new Redis(one, { ...asked, lazyConnect: true })
    expect(redis.options).toMatchObject({ ...meant, ...asked })
    redis.disconnect()
  })

  test.each([
    ['redis://user:secret@host:1/2', 'redis://user:***@host:1/2'],
    ['redis://host', 'redis://host'],
    ['redis://host?db=1&password=secret&family=6', 'redis://host/1'],
    ['redis://host?pass=secret', 'redis://host'],
    ['redis://host?secret', 'redis://host'],
    ['redis://secret@host', 'redis://***@host'],
    ['redis://secret:@host', 'redis://***@host'],
    ['rediss://:secret@host:1', 'rediss://:***@host:1'],
    ['//user:secret@host/3', 'redis://user:***@host/3'],
    ['//secret@host', 'redis://***@host'],
    ['user:secret@host', 'the given address'],
    ['http://user:secret@host', 'the given address'],
    ['redis://user:se/cret@host', 'the given address'],
    ['redis://user:12/secret@host', 'redis://user:12'],
    ['redis://host/secret', 'redis://host'],
    ['redis://host#secret', 'redis://host'],
    ['redis://?host=host&port=1&password=secret', 'redis://host:1'],
    ['redis://?path=/run/redis.sock&password=secret', '/run/redis.sock'],
    ['/run/redis.sock?password=secret', '/run/redis.sock'],
    ['unix:///run/redis.sock?db=3&password=secret', 'unix:///run/redis.sock/3'],
    ['unix:///run/redis.sock', 'unix:///run/redis.sock'],
    ['redis://:secret@', 'the given address'],
    ['redis+sentinel://user:secret@a:1,b/mymaster', 'redis+sentinel://user:***@a:1,b/mymaster'],
    ['redis+sentinel://:se@c@ret@a:1,b/mymaster', 'redis+sentinel://:***@a:1,b/mymaster'],
    ['redis+sentinel://:se/cret@a:1,b/mymaster', 'redis+sentinel://:***@a:1,b/mymaster'],
    ['redis+sentinel://secret@a:1,b/mymaster/2', 'redis+sentinel://***@a:1,b/mymaster/2'],
    ['redis+sentinel://a:1,b/m?sentinelPassword=secret', 'redis+sentinel://a:1,b/m'],
    ['redis+sentinel://a:1,b/m?pass=secret', 'redis+sentinel://a:1,b/m'],
  ])('%s is shown without its password', (url, preview) => {
    expect(safeUrl(url)).toBe(preview)
  })
})
