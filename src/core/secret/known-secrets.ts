/**
 * Duty: the secrets that this process was given: keys of providers, passwords of Redis, and values of variables that are named like secrets.
 * They belong to the process, so there is one list of them for all nodes and clients in it.
 * SECRET-1 A secret that was remembered is never forgotten: what it protected may still be in memory.
 * SECRET-2 A value that is an ordinary word or very short is not remembered, because ordinary sentences would lose it.
 */

export const redacted = '[redacted]'

/** A shorter value is likely to stand in ordinary text. */
const shortest = 6
/** Values that stand in examples, and in sentences of troupe. */
const ordinary =
  /^(?:password|passwd|passphrase|secret|default|redis|troupe|true|false|none|null|undefined|localhost|\d{1,7})$/i

/**
 * All forms of all secrets. Longer forms come first: otherwise a rest of a longer one would stay when a shorter one, which is a part of it, was taken
 * out.
 */
let forms: readonly string[] = []

export function rememberSecret(value: string | undefined): void {
  const secret = value?.trim() ?? ''
  if (secret.length < shortest || ordinary.test(secret) || forms.includes(secret)) return
  forms = [...new Set([...forms, ...formsOf(secret)])].sort((a, b) => b.length - a.length)
}

const secretVariable =
  /(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|PASSPHRASE|CREDENTIALS?|COOKIE)(?:_[A-Z0-9]+)?$/i

/** Remembers variables that are named like secrets, and passwords in addresses. */
export function rememberSecretsOf(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) continue
    // Most shells set PWD and OLDPWD to a folder.
    if (secretVariable.test(name) && !/^(?:OLD)?PWD$/.test(name)) rememberSecret(value)
    if (value.includes('://')) rememberPasswordsIn(value)
  }
}

/** Remembers the passwords in an address: before its host, and among its options. */
export function rememberPasswordsIn(url: string): void {
  const [, user, written] = /^(?:[\w+.-]*:)?\/\/([^/?#:]*?)(?::([^/?#]*))?@/.exec(url) ?? []
  // A user without a password is often a password that was written at the place of the user.
  const found = [written === undefined || written === '' ? user : written, ...passwordOptions(url)]
  for (const password of found) {
    rememberSecret(password)
    rememberSecret(decoded(password))
  }
}

function passwordOptions(url: string): string[] {
  return [...url.matchAll(/[?&]\w*(?:password|passwd|pass|pwd|auth|token|key|secret)=([^&#]*)/gi)].map(
    ([, value = '']) => value,
  )
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The secret as it is, and in the forms in which others quote it: in an address, in JSON, in base64. */
export function formsOf(secret: string): string[] {
  const coded = (form: 'base64' | 'base64url') => Buffer.from(secret).toString(form).replace(/=+$/, '')
  return [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    coded('base64'),
    coded('base64url'),
  ]
}

/** The text without the secrets that this process knows. */
export function withoutKnownSecrets(text: string): string {
  let clean = text
  for (const form of forms) if (clean.includes(form)) clean = clean.replaceAll(form, redacted)
  return clean
}

/** The same for a JSON text, which stays JSON: a secret of digits alone may be a number there, and is left. */
export function jsonWithoutKnownSecrets(json: string): string {
  let clean = json
  for (const form of forms)
    if (clean.includes(form) && !/^[\d.eE+-]+$/.test(form)) clean = clean.replaceAll(form, redacted)
  return clean === json || isJson(clean) ? clean : textsWithoutKnownSecrets(json)
}

/** A form may begin in the middle of an escape. The texts in the JSON hold no escapes. */
function textsWithoutKnownSecrets(json: string): string {
  const clean = (_name: string, value: unknown) => (typeof value === 'string' ? withoutKnownSecrets(value) : value)
  return JSON.stringify(JSON.parse(json, clean))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
