/** Configuration from flags and environment. Errors name the flag or variable. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { environmentWith, readConfig, readEditor } from '../src/config.ts'
import { ConfigError } from '../src/core/errors.ts'
import { withoutKnownSecrets } from '../src/core/secret/known-secrets.ts'

describe('readConfig', () => {
  test.each([
    [{}, { TROUPE_CONCURRENCY: 'abc' }, 'TROUPE_CONCURRENCY must be a whole number from 1 to 10000, not "abc".'],
    [
      { concurrency: 50_000 },
      { TROUPE_CONCURRENCY: '1' },
      '--concurrency must be a whole number from 1 to 10000, not 50000.',
    ],
    [{}, { TROUPE_PARTITIONS: '0' }, 'TROUPE_PARTITIONS must be a whole number from 1 to 4096, not "0".'],
    [{}, { TROUPE_NAMESPACE: 'a b' }, 'TROUPE_NAMESPACE "a b" is not valid: use up to 64 letters, digits, "_" or "-".'],
    [{ workers: '' }, {}, '--workers is an empty text: name a folder of worker files, or leave it out for ./workers.'],
    [{ namespace: '' }, {}, '--namespace "" is not valid: use up to 64 letters, digits, "_" or "-".'],
    [
      {},
      { TROUPE_LOG_LEVEL: 'loud' },
      'TROUPE_LOG_LEVEL "loud" is not known: use trace, debug, info, warn, error, fatal, silent.',
    ],
    [{}, { TROUPE_MODEL: 'gpt' }, 'TROUPE_MODEL "gpt" must be provider/model, like openai/gpt-5.'],
    [{ model: 'gpt' }, {}, '--model "gpt" must be provider/model, like openai/gpt-5.'],
    [{ model: 'openai/' }, {}, '--model "openai/" must be provider/model, like openai/gpt-5.'],
    [{ model: '/gpt-5' }, {}, '--model "/gpt-5" must be provider/model, like openai/gpt-5.'],
    [{ model: 'openai/gpt 5' }, {}, '--model "openai/gpt 5" must be provider/model, like openai/gpt-5.'],
    [
      {},
      { TROUPE_REDIS_URL: '', REDIS_URL: 'localhost' },
      'the Redis URL must begin with redis://, rediss://, unix:// or redis+sentinel://, like redis://127.0.0.1:6379. The URL comes from REDIS_URL.',
    ],
    [
      { redisUrl: 'localhost' },
      { REDIS_URL: 'x' },
      'the Redis URL must begin with redis://, rediss://, unix:// or redis+sentinel://, like redis://127.0.0.1:6379.',
    ],
  ])('refuses %j with %j by name', (flags, env, message) => {
    expect(() => readConfig(flags, env)).toThrow(new ConfigError(message))
  })

  test('prefers a flag to a variable and a variable to the default, and ignores an empty variable', () => {
    const env = { TROUPE_CONCURRENCY: '3', TROUPE_NAMESPACE: 'theirs', TROUPE_LOG_LEVEL: '' }
    expect(readConfig({ namespace: 'mine' }, env)).toMatchObject({
      namespace: 'mine',
      concurrency: 3,
      logLevel: 'info',
    })
  })

  test('what nobody says lets no other machine in, sends no request to a private address, and signs with no secret', () => {
    expect(readConfig({}, {})).toMatchObject({
      host: '127.0.0.1',
      token: undefined,
      webhooks: { secrets: [], allowPrivateAddresses: false },
    })
  })

  test.each([
    [{ TROUPE_WEBHOOK_PRIVATE: 'no' }, { secrets: [], allowPrivateAddresses: false }],
    [{ TROUPE_WEBHOOK_PRIVATE: 'allow' }, { secrets: [], allowPrivateAddresses: true }],
    [{ TROUPE_WEBHOOK_SECRET: ' one,\ntwo ' }, { secrets: ['one', 'two'], allowPrivateAddresses: false }],
  ])('reads what %j says of webhooks', (env, webhooks) => {
    expect(readConfig({}, env).webhooks).toEqual(webhooks)
  })

  test('models get the variables that are named for providers, and no other', () => {
    const ofProviders = { OPENAI_API_KEY: 'a', MY_LAB_BASE_URL: 'http://127.0.0.1:1' }
    const others = { OPENAI_API_KEY_FILE: '/k', API_KEY: 'b', DATABASE_URL: 'postgres://c', EMPTY_API_KEY: '' }
    expect(readConfig({}, { ...ofProviders, ...others }).modelSettings.env).toEqual(ofProviders)
  })

  test('no log repeats a secret of the environment that was read', () => {
    const secret = 'a-key-that-no-pattern-knows'
    readConfig({}, { READ_BY_CONFIG_API_KEY: secret })
    expect(withoutKnownSecrets(`it is ${secret}`)).toBe('it is [redacted]')
  })
})

describe('environmentWith', () => {
  test('a variable of the environment counts before the same one of a file, and a file need not be there', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'env-')), '.env')
    expect(environmentWith(file, { A: '1' })).toEqual({ A: '1' })
    await writeFile(file, 'A=2\nB="3"\n')
    expect(environmentWith(file, { A: '1' })).toEqual({ A: '1', B: '3' })
  })

  test('a file that is there and cannot be read is refused', () => {
    expect(() => environmentWith(tmpdir(), {})).toThrow(`the file ${tmpdir()} cannot be read: `)
  })
})

test.each([
  [{ VISUAL: 'code --wait', EDITOR: 'nano' }, 'code --wait'],
  [{ VISUAL: ' ', EDITOR: 'nano' }, 'nano'],
  [{}, 'vi'],
])('the editor of %j is %s', (env, editor) => {
  expect(readEditor(env)).toBe(editor)
})
