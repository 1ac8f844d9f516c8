/** Configuration from flags and environment. Errors name the flag or variable. */
import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { ConfigError } from '../src/core/errors.ts'

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
})
