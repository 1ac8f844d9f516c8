/** What is taken from texts and values before they become lasting, and what is left. */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import {
  jsonWithoutKnownSecrets,
  rememberPasswordsIn,
  rememberSecret,
  rememberSecretsOf,
  withoutKnownSecrets,
} from '../../../src/core/secret/known-secrets.ts'
import { redactData, redactFields, redactSentence } from '../../../src/core/secret/redact.ts'

test.each([
  ['401 for Bearer abcdefgh1234', '401 for Bearer [redacted]'],
  ['Authorization: Basic dXNlcjpwYXNz, again', 'Authorization: Basic [redacted], again'],
  ['cannot reach redis://u:hunter22@h:6379/0', 'cannot reach redis://u:[redacted]@h:6379/0'],
  ['postgres://u:p%40ss@h/db and mysql://v:w0rd@h', 'postgres://u:[redacted]@h/db and mysql://v:[redacted]@h'],
  [`amqp://u:${'p'.repeat(501)}@h`, 'amqp://u:[redacted]@h'],
  [`amqp://${'u'.repeat(201)}:w0rd@h`, `amqp://${'u'.repeat(201)}:[redacted]@h`],
  ['https://h/x?api_key=abcd1234&y=1', 'https://h/x?api_key=[redacted]&y=1'],
  ['{"password":"open sesame"}', '{"password":"[redacted]"}'],
  ['password=opensesame', 'password=[redacted]'],
  ['password=o\\pensesame', 'password=[redacted]'],
  ['client_secret: "abcd"', 'client_secret: "[redacted]"'],
  ['token: a1b2c3d4', 'token: [redacted]'],
  [`{"session_token":"${'Ab1/'.repeat(300)}","x":1}`, '{"session_token":"[redacted]","x":1}'],
  ['{"password":"a\\"bcdefgh","x":1}', '{"password":"[redacted]","x":1}'],
  ['body "{\\"password\\":\\"opensesame\\",\\"x\\":1}"', 'body "{\\"password\\":\\"[redacted]\\",\\"x\\":1}"'],
  ['set-cookie: a=b; session=w0rd1234; Path=/', 'set-cookie: [redacted]'],
  ['{"cookie":"a=b; c=d","x":1}', '{"cookie":"[redacted]","x":1}'],
  ['sk-proj-abcdefgh12345678 is wrong', '[redacted] is wrong'],
  ['ghp_abcdefgh12345678', '[redacted]'],
  ['AKIAABCDEFGHIJKLMNOP', '[redacted]'],
  ['a -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- b', 'a [redacted] b'],
])('the sentence %j keeps %j', (text, clean) => {
  expect(redactSentence(text)).toBe(clean)
})

test.each([
  'password: Invalid input: expected string, received undefined',
  'tokens: 100000 of 64000 are used',
  'worker 0199f3a2-5c1e-8b04-9d68-3e0f7a21c000 of session 0199f3a2-5c1e-7b04-9d68-3e0f7a21c000 failed',
  'the file /home/u1/src/a/very/long/path/with/1/digit/in/it.ts:18:47 is missing',
  'Unexpected token } in JSON at position 17',
  'ssh://git@host/x, https://host:8080/y and mailto:a@b',
  'set OPENAI_API_KEY, or pass --key',
  'cookie: Invalid input: expected string, and no cookie was set',
])('a sentence without a secret is kept as it is: %s', (text) => {
  expect(redactSentence(text)).toBe(text)
})

test('fields of a log line that are named like secrets lose their values, at any depth', () => {
  const error = new Error('Bearer abcdefgh1234')
  const fields = {
    password: 'x',
    apiKey: 'y',
    'x-api-key': ['z'],
    config: { db: { DB_PASSWORD: 'x' }, list: [{ Authorization: 'x' }], token: 'x' },
    hasPassword: true,
    passwordLength: 8,
    tokens: 17,
    user: 'u',
    error,
  }
  const clean = redactFields(fields)
  expect(clean).toMatchObject({
    password: '[redacted]',
    apiKey: '[redacted]',
    'x-api-key': '[redacted]',
    config: { db: { DB_PASSWORD: '[redacted]' }, list: [{ Authorization: '[redacted]' }], token: '[redacted]' },
    hasPassword: true,
    passwordLength: 8,
    tokens: 17,
    user: 'u',
  })
  expect(clean.error).toBeInstanceOf(Error)
  expect([clean.error.message, String(clean.error.stack)].join()).not.toContain('abcdefgh')
  expect(fields.password).toBe('x')
})

test('no part of a log line holds a secret that a logger writes (REDACT-4)', () => {
  rememberSecret('canary-in-a-part')
  const secret = 'canary-in-a-part'
  class Settings {
    readonly url = new URL(`redis://u:${secret}@h`)
    readonly password = 'open'
  }
  const config = { headers: { Authorization: secret } }
  const fields = {
    cause: new Error('fetch failed', { cause: new Error(secret) }),
    parts: Object.assign(new Error('refused'), { config }),
    errors: new AggregateError([new Error(secret)], 'all failed'),
    settings: new Settings(),
    json: { toJSON: () => secret },
    map: new Map([['token', secret]]),
    set: new Set([secret]),
    [secret]: 1,
  }
  const clean = redactFields(fields)
  expect(inspect(clean, { depth: 10 })).not.toMatch(/canary|open/)
  expect(JSON.stringify(clean)).not.toMatch(/canary|open/)
  expect(clean.cause).toBeInstanceOf(Error)
  expect((clean.cause.cause as Error).message).toBe('[redacted]')
  expect(clean.parts).toMatchObject({ message: 'refused', config: { headers: { Authorization: '[redacted]' } } })
})

test('parts of a log line without a secret are the same objects', () => {
  const error = Object.assign(new Error('refused', { cause: new Error('why') }), { status: 401 })
  const parts = { error, at: new Date(0), bytes: Buffer.from('x'), map: new Map([['a', 1]]), url: new URL('http://h') }
  expect(redactFields(parts)).toBe(parts)
})

test('fields that lead back to themselves are read once (REDACT-4)', () => {
  interface Folder {
    readonly parent?: Folder
    readonly files: Folder[]
    readonly password?: string
  }
  const root: Folder = { files: [] }
  for (let one = 0; one < 100; one++) root.files.push({ parent: root, files: root.files, password: 'open' })
  const clean = JSON.stringify(redactFields({ root }))
  expect(clean).toContain('{"parent":"[Circular]","files":"[Circular]","password":"[redacted]"}')
})

test('a field that cannot be read costs no other', () => {
  const thrower = () => {
    throw new Error('gone')
  }
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const fields = {
    json: { toJSON: thrower },
    proxy,
    own: Object.defineProperty({}, 'a', { get: thrower, enumerable: true }),
  }
  expect(redactFields({ ...fields, said: 'x' })).toEqual({
    json: '[unreadable]',
    proxy: '[unreadable]',
    own: '[unreadable]',
    said: 'x',
  })
})

test('of a field that leads to thousands of objects of classes, only the first are logged', () => {
  class Connection {
    readonly next: Connection[] = []
  }
  const first = new Connection()
  first.next.push(...Array.from({ length: 5_000 }, () => new Connection()))
  const clean = JSON.stringify(redactFields({ first, said: 'x' }))
  expect(clean.length).toBeLessThan(100_000)
  expect(clean).toContain('"[left out]"')
  expect(clean).toContain('"said":"x"')
})

test.each([
  [{ token: 'page-2', nextToken: 'page-3', author: 'a', secretary: 'b', key: 'c', keys: ['d'], secret: { code: 'e' } }],
  ['Bearer of bad news, basic authentication, Basic English, `Bearer <token>`, password: string'],
  [{ when: new Date(0), none: null, list: [1, 'two', { three: 3 }] }],
  ['sk-learn, sk_test_mode and hf-hub are names'],
])('data without a secret is returned itself: %j', (value) => {
  expect(redactData(value)).toBe(value)
})

test('data loses only what is surely a secret', () => {
  const value = {
    rows: [{ password: 'open', url: 'amqp://u:w0rd@h' }],
    text: 'curl -H "Authorization: Bearer a1b2c3d4e5f6"',
    ['__proto__']: { secret: 'x' },
  }
  expect(redactData(value)).toEqual({
    rows: [{ password: '[redacted]', url: 'amqp://u:[redacted]@h' }],
    text: 'curl -H "Authorization: Bearer [redacted]"',
    ['__proto__']: { secret: '[redacted]' },
  })
  expect(({} as { secret?: string }).secret).toBeUndefined()
})

test('a secret of the process is removed in all forms in which others quote it', () => {
  const secret = 'kn0wn "value" of + this/process?'
  rememberSecret(secret)
  for (const form of [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret),
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('base64url'),
  ]) {
    expect(withoutKnownSecrets(`a ${form} b`)).toMatch(/^a "?\[redacted\]"?=* b$/)
    expect(redactData({ output: { deep: [form] } })).toEqual({
      output: { deep: [expect.stringMatching(/^"?\[redacted\]"?=*$/)] },
    })
  }
})

test('variables that are named like secrets are remembered, and passwords in addresses', () => {
  rememberSecretsOf({
    WEATHER_API_KEY: 'canary-one',
    GITHUB_TOKEN: 'canary-two',
    DATABASE_URL: 'postgres://u:canary%2Dthree@h/db',
    AWS_SECRET_ACCESS_KEY: 'canary-four',
    PWD: '/home/canary-folder',
    HOME: '/home/canary-home',
    SHORT_KEY: 'abc',
    DB_PASSWORD: 'password',
  })
  rememberPasswordsIn('redis+sentinel://u:canary-five@a:1,b:2/mymaster/0?sentinelPassword=canary-six')
  const text = 'canary-one canary-two canary-three canary%2Dthree canary-four canary-five canary-six'
  expect(withoutKnownSecrets(text)).toBe(Array(7).fill('[redacted]').join(' '))
  const kept = 'the password of /home/canary-folder and /home/canary-home is abc'
  expect(withoutKnownSecrets(kept)).toBe(kept)
})

test('JSON stays JSON when a secret is taken from it', () => {
  rememberSecret('12345678901')
  rememberSecret('nabcdefgh-canary')
  expect(jsonWithoutKnownSecrets('{"a":12345678901}')).toBe('{"a":12345678901}')
  // A new line, and then a text that with the letter of the escape is the secret.
  const escaped = JSON.stringify({ a: '\nabcdefgh-canary' })
  expect(jsonWithoutKnownSecrets(escaped)).toBe(escaped)
  expect(jsonWithoutKnownSecrets('["nabcdefgh-canary"]')).toBe('["[redacted]"]')
  rememberSecret('another-canary')
  const beside = JSON.stringify({ a: '\nabcdefgh-canary', b: ['is another-canary'] })
  expect(jsonWithoutKnownSecrets(beside)).toBe(JSON.stringify({ a: '\nabcdefgh-canary', b: ['is [redacted]'] }))
})

test.each(['://a:', 'eyJ', '-eyJaaaaaaaa', 'Bearer ', 'password=', 'password\\\\', 'cookie: a', 'sk-', 'a://b:c'])(
  'a long text is read in linear time, even if a stranger wrote endless %s (REDACT-3)',
  (part) => {
    const text = part.repeat(Math.floor(1_000_000 / part.length))
    expect(redactSentence(text).length).toBeGreaterThan(0)
    expect(redactData(text)).toBe(text)
  },
)

test('a text of endless beginnings of a private key is removed whole, in linear time (REDACT-3)', () => {
  const begun = '-----BEGIN PRIVATE KEY-----\nabc'
  const text = begun.repeat(30_000)
  expect(redactSentence(text)).toBe('[redacted]'.repeat(30_000))
  expect(redactData(text)).toBe('[redacted]'.repeat(30_000))
  expect(redactData(`${begun}\n-----END PRIVATE KEY----- b`)).toBe('[redacted] b')
})

test.each([
  ['eyJhbGciOiJ.eyJzdWIiOiI.c2ln, x', '[redacted], x'],
  ['sk-abcdefgh12345678 and sk-abcdefghijklmnopq', '[redacted] and sk-abcdefghijklmnopq'],
])('the data %j keeps %j', (text, clean) => {
  expect(redactData(text)).toBe(clean)
})

test('a key of Google, which has 39 characters, is taken out of a result of a tool', () => {
  const key = `AIzaSy${'D1x_-'.repeat(6)}abc`
  expect(key).toHaveLength(39)
  for (const text of [key, `key=${key}&a=1`, `"${key}"`, `Use ${key}.`])
    expect(redactData(text)).toBe(text.replace(key, '[redacted]'))
})

test('base64 in which the first letters of such a key stand by chance is kept as it is', () => {
  const run = 'AIza'.padEnd(39, 'b')
  const texts = [`eT+${run}/RqQ`, `eT/${run}+RqQ`, `eT+${run}b/RqQ`, `eT+${run.slice(0, 37)}/RqQ`, `eT/${run}==`]
  for (const text of texts) expect(redactData({ text })).toEqual({ text })
})

test('of a secret that begins with another one no rest stays, whichever was remembered first', () => {
  for (const secret of ['canary-short', 'canary-short-and-long', 'canary-longer-and', 'canary-longer'])
    rememberSecret(secret)
  const text = 'canary-short-and-long canary-longer-and canary-short canary-longer'
  expect(withoutKnownSecrets(text)).toBe('[redacted] [redacted] [redacted] [redacted]')
})

test('a password at the place of the user of an address is remembered', () => {
  rememberPasswordsIn('redis://canary-as-user@host:6379/0')
  rememberPasswordsIn('redis://canary-user-name:canary-pass%2Fword@host:6379/0')
  expect(withoutKnownSecrets('canary-as-user canary-user-name canary-pass/word')).toBe(
    '[redacted] canary-user-name [redacted]',
  )
})
