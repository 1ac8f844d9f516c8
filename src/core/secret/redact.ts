/**
 * Duty: make texts and values fit to last: without secrets that this process knows, without what looks like a key, and without values of
 * fields that are named like secrets. It is applied where text becomes lasting: failures, logs, results of tools, events.
 * REDACT-1 Text that is part of no secret is kept as it is. A value without a secret is returned itself, and not as a copy.
 * REDACT-2 Sentences (errors, logs) are cut generously. Data (results of tools) is what models and code work with, so only what is
 *          surely a secret is taken from it: an ordinary field `token` often names a page.
 * REDACT-3 A text is read in linear time, whoever wrote it. A pattern therefore takes in the whole run of characters that it looks through,
 *          also if the run is no secret: no later start looks through it again.
 * REDACT-4 Of a log line all is read that a logger may write: fields of objects of any class, what their toJSON returns, causes and other
 *          parts of errors, names of fields. Each object is read once, so a circle ends.
 */
import { isError } from '../check/is-error.ts'
import { redacted, withoutKnownSecrets } from './known-secrets.ts'

/** How many characters of a text patterns are run over. Known secrets are looked for in all of it. */
const patternCharsMax = 1_000_000

type Replacement = string | ((match: string, ...groups: string[]) => string)

/** How keys of providers begin, as alternatives of a pattern. */
export const keyPrefixes = 'sk|rk|xai|gsk|hf|pplx|ghp|gho|ghs|glpat|github_pat|xox[abps]'

const passwordInAddress: readonly [RegExp, Replacement] = [/(:\/\/[^\s/?#:@"'<>]*:)[^\s/?#"'<>]+@/g, `$1${redacted}@`]

/** A match also ends where the next key begins, so that a text of many beginnings is not read from each of them to its end. */
const privateKey: readonly [RegExp, Replacement] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{1,10000}?(?:-----END [A-Z ]*PRIVATE KEY-----|(?=-----BEGIN )|$)/g,
  redacted,
]

const inSentences: readonly (readonly [RegExp, Replacement])[] = [
  passwordInAddress,
  [/\b(Bearer|Basic)(\s+)[^\s"',;]{4,}/gi, `$1$2${redacted}`],
  [new RegExp(String.raw`\b(?:pk|${keyPrefixes})[-_][\w*.…-]{8,}`, 'g'), redacted],
  [/\bAIza[\w-]{8,}/g, redacted],
  [/\beyJ[\w-]{8,}(?:\.[\w-]+)*/g, redacted],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{8,}/g, redacted],
  privateKey,
  [/\b((?:set-)?cookie)(["']?\s*[=:]\s*["']?)[^\s"'=;,]{1,200}=[^\n"']*/gi, `$1$2${redacted}`],
  [
    // Quoted, also within a JSON text that is itself quoted, or plain.
    /((?:(?:api|access|secret|auth|client|private|session|refresh)[-_ ]?(?:key|token|secret)|token|password|passwd|passphrase|pwd|secret|cookie|authorization)(?:\\*["'])?)(\s*[=:]\s*)(?:(\\+["'])[^"'\\\n]{4,}|(["'])(?:\\.|[^"'\\\n]){4,}|([^\s"',;&]{4,}))/gi,
    // "password: Invalid input" is what a schema says about a field.
    (match, name = '', sign = '', innerQuote = '', quote = '', plain = '') =>
      sign.includes(':') && plain !== '' && /^[A-Za-z]{1,20}\.?$/.test(plain)
        ? match
        : `${name}${sign}${innerQuote}${quote}${redacted}`,
  ],
]

const inData: readonly (readonly [RegExp, Replacement])[] = [
  passwordInAddress,
  [/\b([Bb]earer|[Bb]asic|BEARER)( +)(?=[\w.~+/-]*(?:\d|[a-z][A-Z]))[\w.~+/-]{8,}={0,2}/g, `$1$2${redacted}`],
  [new RegExp(String.raw`\b(?:${keyPrefixes})[-_][\w-]{16,}`, 'g'), (match) => (/\d/.test(match) ? redacted : match)],
  // Such a key has 39 characters. In base64 the same letters stand by chance, and what is cut out of it makes all of it unreadable.
  [/\bAIza[\w-]{35}(?![\w+/=-])/g, redacted],
  [/\beyJ[\w-]{8,}(?:\.[\w-]{8,}\.[\w-]+)?/g, (match) => (match.includes('.') ? redacted : match)],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, redacted],
  privateKey,
]

/** A field name in any style of writing is compared without its separators. */
const secretNameInData =
  /^(?:\w*(?:password|passwd|passphrase|apikey|secretkey|accesskey|privatekey|clientsecret|accesstoken|authtoken|refreshtoken|sessiontoken|bearertoken)|authorization|proxyauthorization|cookie|setcookie|xapikey|secret|credentials?)$/
const secretNameInLog = new RegExp(`${secretNameInData.source}|^(?:token|pwd|auth|dsn|idtoken)$`)

interface Strength {
  readonly patterns: readonly (readonly [RegExp, Replacement])[]
  readonly names: RegExp
  /** A list or an object under such a name is removed as a whole. */
  readonly takesObjects: boolean
}

const sentence: Strength = { patterns: inSentences, names: secretNameInLog, takesObjects: true }
const data: Strength = { patterns: inData, names: secretNameInData, takesObjects: false }

/** The text of an error or of a log line. */
export function redactSentence(text: string): string {
  return redactText(text, sentence)
}

/** The fields of a log line, or the details of an event. */
export function redactFields<Value>(fields: Value): Value {
  return redactValue(fields, sentence, 0, new Map()) as Value
}

/** A result of a tool: text, or JSON. */
export function redactData<Value>(value: Value): Value {
  return redactValue(value, data, 0, new Map()) as Value
}

function redactText(text: string, { patterns }: Strength): string {
  const known = withoutKnownSecrets(text)
  if (known.length > patternCharsMax) return known
  let clean = known
  for (const [pattern, replacement] of patterns) clean = clean.replace(pattern, replacement as string)
  return clean
}

/** Values that are nested deeper are neither logged nor recorded as JSON. */
const depthMax = 70
/** A request or a connection leads to thousands of objects. In a value with more than this, objects of further classes are left out. */
const objectsMax = 1_000

/** What became of each object that was read, and in its place while it is being read. */
type Read = Map<object, unknown>

function redactValue(value: unknown, strength: Strength, depth: number, read: Read): unknown {
  if (typeof value === 'string') return redactText(value, strength)
  if (typeof value !== 'object' || value === null || depth > depthMax) return value
  if (read.has(value)) return read.get(value)
  read.set(value, '[Circular]')
  const clean = readable(() => redactObject(value, strength, depth + 1, read))
  read.set(value, clean)
  return clean
}

/** An accessor or a toJSON that throws must not cost the whole line. */
function readable(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return '[unreadable]'
  }
}

function redactObject(value: object, strength: Strength, depth: number, read: Read): unknown {
  if (Array.isArray(value)) return redactList(value, strength, depth, read)
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === Object.prototype || prototype === null
  if (!isPlain && read.size > objectsMax) return '[left out]'
  if (isError(value)) return redactError(value, strength, depth, read)
  if (ArrayBuffer.isView(value)) return value
  if (value instanceof Map || value instanceof Set) return redactCollection(value, strength, depth, read)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON !== 'function') return redactEntries(value as Record<string, unknown>, strength, depth, read)
  const json: unknown = toJSON.call(value)
  const clean = redactValue(json, strength, depth, read)
  return clean === json ? value : clean
}

function redactList(list: readonly unknown[], strength: Strength, depth: number, read: Read): readonly unknown[] {
  const items = list.map((item) => redactValue(item, strength, depth, read))
  return items.some((item, index) => item !== list[index]) ? items : list
}

function redactCollection(
  value: Map<unknown, unknown> | Set<unknown>,
  strength: Strength,
  depth: number,
  read: Read,
): object {
  const entries = value instanceof Map ? Object.fromEntries(value) : [...value]
  const clean = redactValue(entries, strength, depth, read) as object
  return clean === entries ? value : clean
}

function redactEntries(
  fields: Readonly<Record<string, unknown>>,
  strength: Strength,
  depth: number,
  read: Read,
): Readonly<Record<string, unknown>> {
  let clean: Record<string, unknown> | undefined
  for (const [name, value] of Object.entries(fields)) {
    const isSecret = hasSecretName(name, strength.names) && isSecretValue(value, strength)
    const kept = isSecret ? redacted : redactValue(value, strength, depth, read)
    const shown = withoutKnownSecrets(name)
    if (kept === value && shown === name) continue
    clean ??= { ...fields }
    if (shown !== name) delete clean[name]
    Object.defineProperty(clean, shown, { value: kept, enumerable: true, configurable: true, writable: true })
  }
  return clean ?? fields
}

function hasSecretName(name: string, names: RegExp): boolean {
  return name.length <= 64 && names.test(name.replace(/[-_. ]/g, '').toLowerCase())
}

/** Whether there is a password, or how many characters it has, is no secret. */
function isSecretValue(value: unknown, { takesObjects }: Strength): boolean {
  if (typeof value === 'object') return takesObjects && value !== null
  return typeof value === 'string' && value !== ''
}

/** An error with the same name and parts, as loggers read it; the error itself if it holds no secret. Requests and answers are often parts of one. */
function redactError(error: Error, strength: Strength, depth: number, read: Read): Error {
  const { name, message, stack, cause } = error
  const { errors } = error as Partial<AggregateError>
  const parts = { ...Object.fromEntries(Object.entries(error)), message, stack, cause, errors }
  const clean = redactEntries(parts, strength, depth, read)
  if (clean === parts) return error
  const copy = Object.assign(new Error(String(clean.message)), { name })
  for (const [part, value] of Object.entries(clean))
    if (value !== undefined)
      Object.defineProperty(copy, part, {
        value,
        enumerable: Object.prototype.propertyIsEnumerable.call(error, part),
        configurable: true,
        writable: true,
      })
  return copy
}
