/** Which Redis is refused at the start, by what it says of itself. No old server is at hand, so old ones are quoted. */
import { expect, inject, test } from 'vitest'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { storeError } from '../../../src/store/redis/store-error.ts'
import { unfit } from '../../../src/store/set-up/set-up.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { connectTo } from '../support/connect-to.ts'

const says = (version: string, policy = 'noeviction') =>
  `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n# Memory\r\nmaxmemory_policy:${policy}\r\n`

test.each(['2.8.24', '5.0.7', '6.0.16', '6.1.242'])(
  'Redis %s is refused, and the error says which version is needed',
  (version) => {
    expect(unfit(says(version))).toBe(
      `Redis ${version.split('.').slice(0, 2).join('.')} is too old: troupe needs 6.2 or newer.`,
    )
  },
)

test.each(['6.2.0', '6.10.1', '7.0.15', '8.0.3', '10.0.0'])('Redis %s is taken', (version) => {
  expect(unfit(says(version))).toBeNull()
})

test('a Redis that may evict is refused, with the command that mends it', () => {
  expect(unfit(says('7.0.15', 'allkeys-lru'))).toMatch(/allkeys-lru.*redis-cli config set maxmemory-policy noeviction/)
})

test('a Sentinel is refused, and the error says where to go', () => {
  const info = '# Server\r\nredis_version:7.0.15\r\nredis_mode:sentinel\r\n'
  expect(unfit(info)).toMatch(/is a Redis Sentinel, .* let the URL be like redis\+sentinel:/)
})

const refusals: readonly [reply: string, told: string][] = [
  [
    "ERR unknown command 'evalsha', with args beginning with: '7c35' '1' '{troupe.0}:meta' ",
    "Redis refused (post: unknown command 'evalsha'); its configuration takes that command away (rename-command): troupe needs it.",
  ],
  [
    'ERR Unknown Redis command called from script script: 7c35, on @user_script:26.',
    'Redis refused (post: Unknown Redis command called from script); its configuration takes that command away (rename-command): troupe needs it.',
  ],
  [
    'ERR Unknown command called from script script: 7c35, on @user_function:26.',
    'Redis refused (post: Unknown command called from script); its configuration takes that command away (rename-command): troupe needs it.',
  ],
  [
    "NOPERM this user has no permissions to run the 'evalsha' command",
    "Redis refused (post: NOPERM this user has no permissions to run the 'evalsha' command); its user may not do what troupe needs: allow it (ACL SETUSER), or put another user and password into the URL.",
  ],
  [
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    'Redis refused (post: NOPERM this user has no permissions to access one of the keys used as arguments); its user may not do what troupe needs: allow it (ACL SETUSER with ~{<namespace>.*}* and &{<namespace>.*}*), or put another user and password into the URL.',
  ],
  [
    'NOPERM No permissions to access a channel',
    'Redis refused (post: NOPERM No permissions to access a channel); its user may not do what troupe needs: allow it (ACL SETUSER with ~{<namespace>.*}* and &{<namespace>.*}*), or put another user and password into the URL.',
  ],
  [
    "ERR The user executing the script can't run this command or subcommand script: 7c35, on @user_script:26.",
    "Redis refused (post: The user executing the script can't run this command or subcommand); its user may not do what troupe needs: allow it (ACL SETUSER), or put another user and password into the URL.",
  ],
  [
    "ERR ACL failure in script: User some has no permissions to run the 'rpush' command script: 7c35, on @user_function:26.",
    "Redis refused (post: ACL failure in script: User some has no permissions to run the 'rpush' command); its user may not do what troupe needs: allow it (ACL SETUSER), or put another user and password into the URL.",
  ],
]

test.each(refusals)('a refusal by the set-up of Redis is no bug of troupe: %s', (reply, told) => {
  expect(storeError(new Error(reply), 'post.lua')).toMatchObject({ code: 'config_invalid', message: told })
})

test('a Redis whose configuration removed INFO is refused, without the advice to start it', async () => {
  await using server = await RedisServer.start({ durability: 'none', settings: ['rename-command INFO ""'] })
  await expect(connectTo(server.url)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/has no command info, which troupe needs: .*rename-command/),
  })
})

test('the Redis of these tests is accepted by its own description', async () => {
  const redis = openRedis(inject('redisUrl'))
  expect(unfit(await redis.info())).toBeNull()
  redis.disconnect()
})
